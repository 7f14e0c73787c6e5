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

// The certificates are valid from some time ago, because tests set servers' clocks back, and for longer than any run.
const (
	certBackdate = 24 * time.Hour
	certLifetime = 365 * 24 * time.Hour
)

// authority signs the certificates of one server, or of several that must trust each other. The zero value is a new one.
type authority struct {
	making sync.Once
	cert   *x509.Certificate
	der    []byte
	key    *ecdsa.PrivateKey
	err    error
}

func (a *authority) make() {
	a.cert = certTemplate("lockbench private CA")
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	if a.key, a.err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); a.err == nil {
		a.der, a.err = x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	}
}

func certTemplate(name string) *x509.Certificate {
	now := time.Now()
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-certBackdate),
		NotAfter:     now.Add(certLifetime),
	}
}

// certify makes a certificate for this machine's loopback names and writes the files that a server needs into a directory below
// its own. The authority's own key is never written. It returns what a client needs.
func (p *process) certify(a *authority, below string) (*tls.Config, error) {
	if a.making.Do(a.make); a.err != nil {
		return nil, a.err
	}
	leaf := certTemplate("lockbench private server")
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	leaf.DNSNames = []string{"localhost"}
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name, kind string
		der        []byte
	}{{caFile, "CERTIFICATE", a.der}, {certFile, "CERTIFICATE", leafDER}, {keyFile, "PRIVATE KEY", keyDER}} {
		text := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := p.write(filepath.Join(below, f.name), string(text)); err != nil {
			return nil, err
		}
	}
	p.ca = p.dir.file(filepath.Join(below, caFile))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.der}))
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}, nil
}
