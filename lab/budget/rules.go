package budget

// Rules are the numbers of programs and protocol that cost something.
type Rules struct {
	Period       float64 // seconds of a live period
	Spread       float64 // seconds within which a realm opens the next period's sets
	Ping         float64 // seconds of silence on a watch connection before a ping
	PutIdle      float64 // seconds after which a put connection without puts is closed
	ContextCells int     // cells of a put context
	ParkedRows   int     // of them parked
	Reconnects   float64 // times a day that the network goes and comes
	Returns      float64 // of them after a minute or more: all is offered anew, "I'm back" is said, parked cells are taken
	TakeEvery    float64 // seconds between takes without a return
	TakeDays     float64 // days of one take, each on a connection of its own: yesterday, today and an hour of tomorrow
	Descriptor   float64 // seconds between two looks at a realm's descriptor
	Relays       float64 // other relays that contacts live on
	SlotReads    float64 // reads of each group's slot a day
	SpentSize    float64 // bytes that a spent token's hash takes; what a database adds is not in it
	LargestClass int     // tokens a day, at most
}

// Present returns the rules that the programs go by now. Those of groups, pace and
// the pool are design.
func Present() Rules {
	return Rules{
		Period: 1800, Spread: 60, Ping: 60, PutIdle: 240, ContextCells: 128, ParkedRows: 64,
		Reconnects: 20, Returns: 10, TakeEvery: 6 * 3600, TakeDays: 2 + 1.0/24, Descriptor: 3900, Relays: 3,
		SlotReads: 4, SpentSize: 8, LargestClass: 16384,
	}
}

// Preset is a column of the presets that people choose from.
type Preset struct {
	Name      string
	Link      Link
	Watch     bool    // live delivery; else the pool is read
	Wake      bool    // sleeping devices are woken
	Park      bool    // what waits is parked
	TickMean  float64 // seconds between ticks of the clock; 0: there is none
	TickCells int     // cells of a tick
	AckMean   float64 // seconds, mean
	SlotEvery float64 // seconds between reads of the pool
	SlotCells int     // cells sent before each read
	SlotReads int     // private queries of one read
	Absent    float64 // share of the time for which a receiver is away
}

const (
	groupAck = 120.0 // seconds: mean delay of an ack in a group
	woken    = 0.7   // share of wake tickets that wake
	foreign  = 5     // one route in so many is of another realm

	// Wake tickets: four of 2,048 bytes go together, are given anew before they
	// expire, and when half of them are used.
	ticketCells, ticketDays, ticketsLow = 9.0, 5.0, 2.0
)

// Presets returns everyday, quiet by a front and by Tor, and silent. Their public
// widths follow the person: a tick of 1, 2 or 4 cells, a slot of 32 or 128.
func Presets(p Profile) []Preset {
	everyday := Preset{Name: "everyday", Link: direct, Watch: true, Wake: true, Park: true, AckMean: 5, Absent: 0.4}
	quiet := Preset{Name: "quiet, front", Link: front, Watch: true, Wake: true, Park: true, TickMean: 40, TickCells: 4, AckMean: 20, Absent: 0.3}
	silent := Preset{Name: "silent", Link: front, SlotEvery: 3600, SlotReads: 64, SlotCells: 128}
	switch p.Name {
	case "light":
		quiet.TickCells, silent.SlotReads, silent.SlotCells = 1, 16, 32
	case "normal":
		quiet.TickCells = 2
	default:
		silent.SlotEvery = 600
	}
	onion := quiet
	onion.Name, onion.Link = "quiet, Tor", tor
	return []Preset{everyday, quiet, onion, silent}
}
