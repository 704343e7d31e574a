package budget

// price turns counts into connections, bytes, tokens, CPU and disk.
func (r *Report) price(p Profile, s Preset, u Rules, realm int) {
	l := s.Link
	r.Routes = p.routes()
	if s.Watch {
		r.priceWatch(p, s, u, realm)
		r.priceTake(p, s, u)
	} else {
		r.pricePool(s, realm)
	}
	r.pricePuts(l)
	r.priceTokens(u)
	reads := float64(p.PrivateGroups+p.SharedGroups) * u.SlotReads
	r.open(reads, l, false)
	r.Up += reads * blobMiss / 2
	r.Down += reads * blobMiss / 2
	r.Connections = r.Puts + r.Watches + r.Takes + r.Looks + reads
	if s.Park {
		r.Connections += r.Parks
	}
}

// open prices n connections that a client opens and whose other end is the relay.
func (r *Report) open(n float64, l Link, paid bool) {
	if l.OneShot {
		l = tor // a front carries single requests only
	}
	r.Up += n * l.OpenUp
	r.Down += n * l.OpenDown
	if paid {
		r.Up += n * tokenHeader
	}
	r.CPU += n * (cpuTLS + cpuOpen)
}

// pricePuts prices what leaves.
func (r *Report) pricePuts(l Link) {
	if l.OneShot {
		r.Puts = 24 // to the front
		r.CPU += r.CellsUp * cpuIssue / 2
		r.Up += r.PutTokens * tokenHeader
	} else {
		r.open(r.Puts, l, true)
	}
	r.Up += r.CellsUp * l.PutUp
	r.Down += r.CellsUp * l.PutDown
	r.CPU += (r.CellsUp + r.CellsDown) * cpuCell
	r.open(r.Parks, l, true)
	r.Up += r.Parks * (cellSize + addressSize + 18)
	r.open(r.Wakes, l, true)
	r.Up += r.Wakes * ticketSize
	r.OtherToken += r.Wakes
}

// priceWatch prices the live path: one connection for all contacts and one for
// each open invite, in each live period and after each break.
//
// spec: delivery.md#watching
func (r *Report) priceWatch(p Profile, s Preset, u Rules, realm int) {
	r.Set = set(r.Routes)
	opens := day/u.Period + u.Reconnects
	r.Watches = opens * float64(1+p.Invites)
	proofs := opens * float64(r.Set+p.Invites*set(1))
	r.WatchToken = r.Watches
	r.WatchBytes = proofs * proofSize
	r.Pings = float64(1+p.Invites) * day / u.Ping
	r.PingBytes = r.Pings * (pingUp + pingDown)
	r.open(r.Watches, s.Link, true)
	r.Up += r.WatchBytes + r.CellsDown*echoUp + r.Pings*pingUp
	r.Down += r.CellsDown*deliverDown + r.Pings*pingDown
	r.CPU += proofs*cpuVerify + r.Pings*cpuPing
	r.Peak = float64(realm) * (float64(r.Set+p.Invites*set(1))*cpuVerify + float64(1+p.Invites)*(cpuTLS+cpuOpen+cpuRedeem)) / (u.Spread * 2)
	r.Looks = day/u.Descriptor + r.Guest // at other relays when they are used
	r.open(r.Looks, s.Link, false)
	r.Down += r.Looks * realmDown
}

const (
	briefly = 180.0 // seconds that a return takes
	astray  = 0.01  // share of what comes that is parked though the device is there: acks that were not echoed in time; from what was measured
)

// priceTake prices taking what is parked. A device that is never away for long
// takes rows only by chance: what others parked for it came while it was gone.
//
// spec: delivery.md#taking
func (r *Report) priceTake(p Profile, s Preset, u Rules) {
	if !s.Park {
		return
	}
	rounds := max(u.Returns, day/u.TakeEvery) + 1 // a return puts the next one off; one is after midnight
	r.Takes = rounds * u.TakeDays * float64(1+p.Invites)
	r.TakeTokens = r.Takes
	r.Taken = r.CellsDown * (u.Returns*briefly/day + astray)
	proofs := rounds * u.TakeDays * float64(r.Set+p.Invites*set(1))
	r.open(r.Takes, s.Link, true)
	r.Up += proofs*proofSize + r.Taken*takenUp
	r.Down += r.Taken * takenDown
	r.CPU += proofs*cpuVerify + (r.Parks+r.Taken)*cpuPark
}

// pricePool prices reading the pool: all who are oblivious fill it.
func (r *Report) pricePool(s Preset, realm int) {
	oblivious := max(1, realm/10)
	slots := day / s.SlotEvery
	mode, up, down, cpu := catchup(oblivious*s.SlotCells, s.SlotReads)
	r.PoolMode, r.PoolBytes = mode, slots*(up+down)
	r.Up += slots * (up + s.Link.OpenUp)
	r.Down += slots * (down + s.Link.OpenDown)
	r.CPU += slots * (cpu + cpuTLS)
	if mode == "LWE" {
		r.CPU += r.CellsUp * cpuHint
	}
	r.OtherToken += slots
	r.Puts += slots
}

// priceTokens prices batches and what is spent: own tokens of a day's class, and
// a batch of guest tokens each week.
//
// spec: purse.md#when-tokens-are-fetched
func (r *Report) priceTokens(u Rules) {
	r.Class, r.ClassFits = u.class(r.Tokens())
	r.Batches = float64(r.Class)/1024 + 1.0/7
	r.open(r.Batches, direct, false)
	r.Up += r.Batches * 1024 * elementSize
	r.Down += r.Batches * 1024 * elementSize
	r.CPU += r.Batches*1024*cpuIssue + r.Tokens()*cpuRedeem
	r.Spent = ((r.Tokens()-r.Guest)*2 + r.Guest*35) * u.SpentSize
}
