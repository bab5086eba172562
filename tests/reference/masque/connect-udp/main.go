// SPDX-License-Identifier: GPL-2.0-only

// Both ends of CONNECT-UDP (RFC 9298), with the defaults of masque-go.
//
//	connect-udp client PROXY TARGETS LISTENS
//	connect-udp proxy LISTEN
//
// LISTENS are UDP sockets with commas between; what comes to one goes to the same of TARGETS. With
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
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/quic-go/masque-go"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/yosida95/uritemplate/v3"
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

func client(proxy string, targets, listens []string) {
	template := uritemplate.MustNew("https://" + proxy + "/udp?h={target_host}&p={target_port}")
	connection, err := quic.DialAddr(context.Background(), proxy, clientTLS, config)
	check(err)
	transport := masque.Transport{TLSClientConfig: clientTLS, QUICConfig: config}
	carrier, err := transport.NewClientConn(connection)
	check(err)
	for number, listen := range listens {
		request, err := masque.NewRequest(context.Background(), template, targets[number])
		check(err)
		tunnel, _, err := carrier.Dial(request)
		check(err)
		local, err := net.ResolveUDPAddr("udp", listen)
		check(err)
		socket, err := net.ListenUDP("udp", local)
		check(err)
		application := make(chan net.Addr, 1)
		go func() {
			buffer := make([]byte, 65536)
			peer := <-application
			for {
				size, _, err := tunnel.ReadFrom(buffer)
				if err != nil {
					log.Print(err)
					return
				}
				_, _ = socket.WriteTo(buffer[:size], peer)
			}
		}()
		go func() {
			buffer := make([]byte, 65536)
			isKnown := false
			for {
				size, peer, err := socket.ReadFrom(buffer)
				check(err)
				if !isKnown {
					application <- peer
					isKnown = true
				}
				if _, err := tunnel.WriteTo(buffer[:size], nil); err != nil {
					log.Print(err)
				}
			}
		}()
	}
	select {}
}

func proxy(listen string) {
	template := uritemplate.MustNew("https://" + listen + "/udp?h={target_host}&p={target_port}")
	connector := masque.Proxy{}
	serve(listen, "/udp", func(writer http.ResponseWriter, request *http.Request) {
		parsed, err := masque.ParseProxyRequest(request, template)
		check(err)
		log.Print(connector.Proxy(writer, parsed))
	})
}

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 4 && arguments[0] == "client":
		client(arguments[1], strings.Split(arguments[2], ","), strings.Split(arguments[3], ","))
	case len(arguments) == 2 && arguments[0] == "proxy":
		proxy(arguments[1])
	default:
		log.Fatal("expected: client PROXY TARGETS LISTENS, or proxy LISTEN")
	}
}
