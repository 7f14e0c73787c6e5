package servers

// The certificate of one server, or of one group of servers that must trust each other.

import (
	"cmp"
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

// authority is a certificate for this machine's loopback names that vouches for itself. The zero value is a new one.
type authority struct {
	making    sync.Once
	roots     *x509.CertPool
	cert, key []byte // PEM
	err       error
}

// make makes a certificate that is valid from some time ago, because tests set servers' clocks back, and for longer than
// any run.
func (a *authority) make() {
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "lockbench private server"},
		NotBefore: time.Now().AddDate(0, 0, -1), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.err = err
		return
	}
	der, noCert := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	keyDER, noKey := x509.MarshalPKCS8PrivateKey(key)
	a.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	a.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	a.roots, a.err = x509.NewCertPool(), errors.Join(noCert, noKey)
	a.roots.AppendCertsFromPEM(a.cert)
}

// certify writes the files that a server needs into a directory below its own: with a certificate of its own, or that of
// a group. It returns what a client needs.
func (s *Server) certify(group *authority, below string) (*tls.Config, error) {
	a := cmp.Or(group, new(authority))
	if a.making.Do(a.make); a.err != nil {
		return nil, a.err
	}
	s.ca = s.dir.file(filepath.Join(below, caFile))
	err := errors.Join(s.write(filepath.Join(below, caFile), string(a.cert)),
		s.write(filepath.Join(below, certFile), string(a.cert)), s.write(filepath.Join(below, keyFile), string(a.key)))
	return &tls.Config{RootCAs: a.roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}, err
}
