package main

// The loss: a lock that gives away a share of its grants.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/lockbench/lockbench/drivers"
)

// plant is a driver whose sessions release a share of their grants at once and try again, before lockbench hears of them.
// The work on the client, the server and the network stays what it was for each grant, so that the locks that are counted
// are fewer by that share, whatever limits them. Work that is added to a client or to a hold does not do that: while one
// client works, others are served, and 10 % more work of a client was a loss of 3.5 %.
type plant struct {
	drivers.Driver
	drivers.Described
	drivers.Addressed
	share float64
}

func (p plant) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	svc, err := p.Driver.Open(ctx, cfg)
	return plantedService{svc, p.share}, err
}

type plantedService struct {
	drivers.Service
	share float64
}

func (s plantedService) Unwrap() drivers.Service { return s.Service }

func (s plantedService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return &plantedSession{inner, s.share, rand.New(rand.NewPCG(1, uint64(id)))}, nil
}

type plantedSession struct {
	drivers.Session
	share float64
	rng   *rand.Rand
}

func (s *plantedSession) Unwrap() drivers.Session { return s.Session }

// Try returns the first grant that is not given away.
func (s *plantedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	for {
		held, err := s.Session.Try(ctx, l)
		if !held || err != nil || s.rng.Float64() >= s.share {
			return held, err
		}
		if _, err := s.Session.Release(ctx, l); err != nil {
			return false, err
		}
	}
}

const (
	planted       = "planted" // the driver
	plantVariable = "ALARMS_PLANT"
	realVariable  = "ALARMS_DRIVER"
)

// registerPlant adds the planted driver to those of this process, if it is a trial.
func registerPlant() error {
	share := os.Getenv(plantVariable)
	if share == "" {
		return nil
	}
	p, err := newPlant(os.Getenv(realVariable), share)
	if err == nil {
		drivers.Register(planted, p)
	}
	return err
}

// newPlant returns a plant of a driver.
func newPlant(driver, share string) (plant, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return plant{}, err
	}
	described, ok := d.(drivers.Described)
	addressed, also := d.(drivers.Addressed)
	if !ok || !also {
		return plant{}, fmt.Errorf("%s has no server", driver)
	}
	v, err := strconv.ParseFloat(share, 64)
	return plant{d, described, addressed, v}, err
}
