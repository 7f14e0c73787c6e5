package servers

// The certificate of the servers of this process, which trust each other.

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
	"sync"
	"time"
)

// The files of a TLS server in its directory.
const (
	caFile   = "ca.pem"
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// certify writes the files of a TLS server. It returns what a client needs.
func (s *Server) certify() (*tls.Config, error) {
	pair, err := certificate()
	if err != nil {
		return nil, err
	}
	s.ca = s.dir.file(caFile)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pair.cert))
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12},
		errors.Join(s.write(caFile, pair.cert), s.write(certFile, pair.cert), s.write(keyFile, pair.key))
}

// pair is a certificate for this machine's loopback names, which vouches for itself, and its key, as PEM.
type pair struct{ cert, key string }

// certificate returns the certificate of this process. It is valid from some time ago, because tests set servers'
// clocks back, and for longer than any run.
var certificate = sync.OnceValues(func() (p pair, err error) {
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "lockbench private server"},
		NotBefore: time.Now().AddDate(0, 0, -1), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return p, err
	}
	der, noCert := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	keyDER, noKey := x509.MarshalPKCS8PrivateKey(key)
	p.cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	p.key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return p, errors.Join(noCert, noKey)
})
