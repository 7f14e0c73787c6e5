package servers

// A certificate authority for one server, or one group of servers.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"path/filepath"
	"sync"
	"time"
)

// The files of a TLS server in its directory.
const (
	caFile   = "ca.pem"
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// authority signs the certificates of one server, or of several that must trust each other. The zero value is a new one.
// Its own key is never written.
type authority struct {
	making sync.Once
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	err    error
}

// sign makes a key and a certificate, signed by the authority or, without one, by the key itself. It is valid from some
// time ago, because tests set servers' clocks back, and for longer than any run.
func (a *authority) sign(cert *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert.NotBefore, cert.NotAfter = time.Now().AddDate(0, 0, -1), time.Now().AddDate(1, 0, 0)
	cert.SerialNumber, _ = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	parent, by := cert, key
	if a != nil {
		parent, by = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, by)
	if err != nil {
		return nil, nil, err
	}
	cert, err = x509.ParseCertificate(der)
	return cert, key, err
}

func (a *authority) make() {
	a.cert, a.key, a.err = (*authority)(nil).sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "lockbench private CA"},
		IsCA:    true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
}

// certify makes a certificate for this machine's loopback names and writes the files that a server needs into a directory below
// its own. It returns what a client needs.
func (s *Server) certify(a *authority, below string) (*tls.Config, error) {
	if a.making.Do(a.make); a.err != nil {
		return nil, a.err
	}
	leaf, key, err := a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "lockbench private server"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	})
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	write := func(name, kind string, der []byte) error {
		return s.write(filepath.Join(below, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	err = errors.Join(write(caFile, "CERTIFICATE", a.cert.Raw), write(certFile, "CERTIFICATE", leaf.Raw), write(keyFile, "PRIVATE KEY", keyDER))
	s.ca = s.dir.file(filepath.Join(below, caFile))
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}, err
}
