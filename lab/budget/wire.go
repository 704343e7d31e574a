package budget

// Bytes on the wire: IP and TCP headers of a segment, the record of TLS, frames.
const (
	cellSize    = 1280
	addressSize = 32
	proofSize   = addressSize + 64 // address and signature
	segment     = 52               // IP and TCP headers with a time stamp
	record      = 22               // of TLS 1.3
	pingUp      = segment + record + 6
	pingDown    = segment + record + 74 + segment // with the signed second; the answer is acknowledged, too
	deliverDown = cellSize + addressSize + 8 + 1 + 4 + record + segment
	echoUp      = 8 + 1 + 6 + record + segment
	takenDown   = cellSize + addressSize + 16 + 2 + 4 + record + segment
	takenUp     = 16 + proofSize + 2 + 8 + record + segment
	ticketSize  = 2048
	blobMiss    = 700  // reading an empty slot on an open connection, both directions
	elementSize = 32   // of a token in a batch, each way
	tokenHeader = 132  // both headers of what is paid for
	realmDown   = 1900 // a descriptor with issuer keys and a gateway's key
	hintSize    = 2560 * cellSize

	// What TLS adds to a connection: measured with crypto/tls and the product's
	// certificates, 1,569 up and 1,650 down, and three segments each way.
	tlsUp, tlsDown = 1569 + 3*segment, 1650 + 3*segment
	// The request for a connection and its answer in plain HTTP, without token.
	askUp, askDown = 320, 230
)

// Seconds of relay CPU. The first group is what BenchmarkRelay measures, on two
// shared Xeon cores with other work on them; cpuCell is from docs/perf.md.
const (
	cpuVerify = 48e-6   // an address of a set: its proof, and room in the table
	cpuOpen   = 0.45e-3 // a connection without TLS and what is asked over it
	cpuIssue  = 0.15e-3 // a token, in a batch
	cpuRedeem = 0.15e-3 // a token: checked, committed on disk, its context opened
	cpuPark   = 0.1e-3  // a row: put, taken, deleted

	cpuCell = 40e-6  // a cell through TLS and the hub, one way
	cpuTLS  = 0.4e-3 // handshake, X25519MLKEM768 and Ed25519, server half; judged
	cpuPing = 10e-6  // judged

	cpuHint   = 1280 / 45e6 // hint work per pooled cell; design
	cpuScan   = 87e-3 / 1e9 // one query over one byte, single; a batch of 12 costs two scans
	batchGain = 3           // queries per scan, gained by batches of 12
)

// Link is how a device reaches the relay.
type Link struct {
	Name             string
	OpenUp, OpenDown float64 // one connection with its handshakes and upgrade
	PutUp, PutDown   float64 // one cell and its answer
	PerRoute         bool    // puts of different routes may not share a connection
	OneShot          bool    // no connection of its own per put
}

// The links. Through Tor each isolated connection is a fresh circuit of three
// hops. Front and Tor are design and were not measured.
var (
	direct = Link{Name: "direct", OpenUp: tlsUp + askUp, OpenDown: tlsDown + askDown, PutUp: cellSize + addressSize + 8 + 8 + record + 2*segment, PutDown: 136}
	front  = Link{Name: "front", OpenUp: 2400, OpenDown: 2260, PutUp: 1790, PutDown: 330, PerRoute: true, OneShot: true}
	tor    = Link{Name: "Tor", OpenUp: 4300, OpenDown: 4100, PutUp: 1620, PutDown: 620, PerRoute: true}
)
