package relay

// NetworkBy returns a network whose relays d reaches.
func NetworkBy(d Dialer) *Network { return &Network{dial: d} }
