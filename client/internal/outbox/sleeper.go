package outbox

// A Waker wakes devices that sleep.
type Waker interface {
	// Wake is called when a device fell silent, once for each silence, with no
	// lock held. It must return soon.
	Wake(peer int64)
}

// slept notes that a device fell silent, once the transport is sure of it: a
// guess is not worth a ticket. Copies of hellos tell nothing. It is called with
// what each missed copy came to while the device is silent.
//
// spec: wake.md#tickets-between-contacts
func (o *Outbox) slept(p *peer, out outcome) {
	if p.told || !out.counts || !out.sure || o.cfg.Waker == nil {
		return
	}
	p.told = true
	o.sleepers = append(o.sleepers, p.id)
}

// tellWaker says which devices fell silent. Callers do not hold mu.
func (o *Outbox) tellWaker() {
	o.mu.Lock()
	all := o.sleepers
	o.sleepers = nil
	o.mu.Unlock()
	for _, id := range all {
		o.cfg.Waker.Wake(id)
	}
}
