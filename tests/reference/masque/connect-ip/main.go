// SPDX-License-Identifier: GPL-2.0-only

// Both ends of CONNECT-IP (RFC 9484), with the defaults of connect-ip-go.
//
//	connect-ip client DEVICE PROXY
//	connect-ip proxy DEVICE LISTEN CLIENT
//
// They carry packets of a TUN device, which exists. CLIENT is the address that the client gets. With
// QLOGDIR set, both ends write there what their connection does.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log"
	"math/big"
	"net/http"
	"net/netip"
	"os"
	"time"

	connectip "github.com/quic-go/connect-ip-go"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/yosida95/uritemplate/v3"
	"golang.org/x/sys/unix"
)

// What the library takes for a client by default; the proxy takes the same.
var config = &quic.Config{
	EnableDatagrams:   true,
	InitialPacketSize: 1350,
	Tracer:            qlog.DefaultConnectionTracer,
}

var clientTLS = &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// certificate is of the proxy alone, and lasts a day.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func serve(listen, path string, handler http.HandlerFunc) {
	mux := http.NewServeMux()
	mux.HandleFunc(path, handler)
	server := http3.Server{
		Addr:            listen,
		Handler:         mux,
		TLSConfig:       http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate()}}),
		QUICConfig:      config,
		EnableDatagrams: true,
	}
	check(server.ListenAndServe())
}

// open returns the file of a TUN device.
func open(device string) *os.File {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	check(err)
	request, err := unix.NewIfreq(device)
	check(err)
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	check(unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
	return os.NewFile(uintptr(fd), device)
}

// carry copies packets one way until an end fails.
func carry(read func([]byte) (int, error), write func([]byte) error) {
	packet := make([]byte, 65536)
	for {
		size, err := read(packet)
		if err == nil {
			err = write(packet[:size])
		}
		if err != nil {
			log.Print(err)
			return
		}
	}
}

// join copies packets both ways until an end fails.
func join(device *os.File, tunnel *connectip.Conn) {
	toDevice := func(packet []byte) error {
		_, err := device.Write(packet)
		return err
	}
	go carry(tunnel.ReadPacket, toDevice)
	carry(device.Read, func(packet []byte) error {
		answer, err := tunnel.WritePacket(packet)
		if err == nil && len(answer) > 0 {
			err = toDevice(answer)
		}
		return err
	})
}

func client(device, proxy string) {
	request, err := connectip.NewRequest(
		context.Background(), uritemplate.MustNew("https://"+proxy+"/ip"))
	check(err)
	transport := connectip.Transport{TLSClientConfig: clientTLS, QUICConfig: config}
	tunnel, _, err := transport.Dial(request)
	check(err)
	_, err = tunnel.Routes(context.Background())
	check(err)
	join(open(device), tunnel)
}

func proxy(device, listen, client string) {
	file := open(device)
	template := uritemplate.MustNew("https://" + listen + "/ip")
	connector := connectip.Proxy{}
	serve(listen, "/ip", func(writer http.ResponseWriter, request *http.Request) {
		parsed, err := connectip.ParseProxyRequest(request, template)
		check(err)
		tunnel, err := connector.Proxy(writer, parsed)
		check(err)
		address := netip.MustParseAddr(client)
		check(tunnel.AssignAddresses([]netip.Prefix{netip.PrefixFrom(address, 32)}))
		check(tunnel.AdvertiseRoute([]connectip.IPRoute{{
			StartIP: netip.MustParseAddr("0.0.0.0"),
			EndIP:   netip.MustParseAddr("255.255.255.255"),
		}}))
		join(file, tunnel)
	})
}

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 3 && arguments[0] == "client":
		client(arguments[1], arguments[2])
	case len(arguments) == 4 && arguments[0] == "proxy":
		proxy(arguments[1], arguments[2], arguments[3])
	default:
		log.Fatal("expected: client DEVICE PROXY, or proxy DEVICE LISTEN CLIENT")
	}
}
