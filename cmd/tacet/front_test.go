package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// frontCmd puts a program that ends TLS in front of the relay at $RELAY, on the
// address in $PUBLIC, and sets $RELAY to where that listens. Who believes
// $SSL_CERT_FILE believes it: front start.
func frontCmd(ts *testscript.TestScript, neg bool, args []string) {
	behind := &url.URL{Scheme: "http", Host: ts.Getenv("RELAY")}
	host, _, err := net.SplitHostPort(ts.Getenv("PUBLIC"))
	ts.Check(err)
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	ts.Check(err)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(host)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	ts.Check(err)
	path := ts.MkAbs("front.pem")
	ts.Check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	quiet := log.New(io.Discard, "", 0)
	srv := &http.Server{
		// It names the client in X-Forwarded-For, as any would.
		Handler:   &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind); r.SetXForwarded() }, ErrorLog: quiet},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}},
		ErrorLog:  quiet,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.ServeTLS(ln, "", "")
	}()
	ts.Defer(func() {
		srv.Close()
		<-done
	})
	ts.Setenv("SSL_CERT_FILE", path)
	ts.Setenv("RELAY", ln.Addr().String())
}
