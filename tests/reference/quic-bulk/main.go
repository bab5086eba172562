// SPDX-License-Identifier: GPL-2.0-only

// Forward TCP connections through one QUIC connection of quic-go, with a stream for each.
//
//	quic-bulk client LISTEN SERVER
//	quic-bulk server LISTEN TARGET
//
// With QLOGDIR set, both write what they do there as qlog.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const protocol = "bulk"

var config = &quic.Config{Tracer: qlog.DefaultConnectionTracer}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// certificate is of the server alone, and lasts a day.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// join copies both ways until an end closes.
func join(stream *quic.Stream, connection net.Conn) {
	go func() {
		_, _ = io.Copy(connection, stream)
		connection.Close()
	}()
	_, _ = io.Copy(stream, connection)
	stream.Close()
}

func client(listen, server string) {
	listener, err := net.Listen("tcp", listen)
	check(err)
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	var tunnel *quic.Conn
	for {
		connection, err := listener.Accept()
		check(err)
		if tunnel == nil {
			tunnel, err = quic.DialAddr(context.Background(), server, settings, config)
			check(err)
		}
		stream, err := tunnel.OpenStreamSync(context.Background())
		check(err)
		go join(stream, connection)
	}
}

func server(listen, target string) {
	settings := &tls.Config{
		Certificates: []tls.Certificate{certificate()},
		NextProtos:   []string{protocol},
	}
	listener, err := quic.ListenAddr(listen, settings, config)
	check(err)
	for {
		tunnel, err := listener.Accept(context.Background())
		check(err)
		go func() {
			for {
				stream, err := tunnel.AcceptStream(context.Background())
				if err != nil {
					return
				}
				connection, err := net.Dial("tcp", target)
				check(err)
				go join(stream, connection)
			}
		}()
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("expected: client LISTEN SERVER, or server LISTEN TARGET")
	}
	if os.Args[1] == "client" {
		client(os.Args[2], os.Args[3])
	} else {
		server(os.Args[2], os.Args[3])
	}
}
