package budget

// Profile is one device's people and habits for a day.
type Profile struct {
	Name           string
	Contacts       int
	DevicesEach    float64
	OwnDevices     int
	PrivateGroups  int     // up to 32 leaves: a copy per leaf
	PrivateMembers float64 // persons
	SharedGroups   int     // above 32 leaves: one cell
	SharedMembers  float64
	Messages       int     // sent by this device
	GroupShare     float64 // of them to groups
	Voices         int     // messages received in a group for each one sent
	PerSitting     int     // own messages in one sitting; a contact sends as many
	Invites        int     // open invites: each is watched on a connection of its own
	TheirReturns   float64 // returns of a contact's device a day
	TheirContacts  int     // of whom it tells a tenth, at least one
	Mains          bool    // it never sleeps and gives nobody wake tickets
}

// Profiles returns the sorts of people that the presets have to serve. None of it
// is measured on people.
func Profiles() []Profile {
	return []Profile{
		{"light", 10, 1.3, 2, 2, 5, 0, 0, 30, 0.3, 4, 6, 1, 10, 10, false},
		{"normal", 50, 1.3, 2, 8, 10, 0, 0, 120, 0.4, 4, 6, 1, 10, 50, false},
		{"heavy", 200, 2, 2, 9, 12, 41, 33, 500, 0.5, 4, 6, 2, 10, 200, false},
		{"bot", 2000, 1.3, 1, 0, 0, 0, 0, 1000, 0, 0, 1, 1, 10, 50, true},
	}
}

// LightPairs is "light" with what programs can do now: pairs of one device each.
// Each contact knows nobody else, so that a population of eleven is enough.
func LightPairs() Profile {
	return Profile{Name: "light, pairs", Contacts: 10, DevicesEach: 1, OwnDevices: 1, Messages: 30, PerSitting: 6, TheirReturns: 2.4, TheirContacts: 1}
}

// NormalPairs is the same for "normal".
func NormalPairs() Profile {
	return Profile{Name: "normal, pairs", Contacts: 50, DevicesEach: 1, OwnDevices: 1, Messages: 120, PerSitting: 6, TheirReturns: 2.4, TheirContacts: 1}
}

func (p Profile) leaves(members float64) int {
	return int((members-1)*p.DevicesEach+0.5) + p.OwnDevices
}

// routes is how many addresses the device owns: contact devices, own devices,
// group leaves, shared addresses, a loop; 5 % are doubled while they are renewed.
func (p Profile) routes() int {
	n := float64(p.Contacts)*p.DevicesEach + float64(p.OwnDevices-1) + float64(p.PrivateGroups+2*p.SharedGroups) + 1
	return int(n*1.05 + 0.5)
}

// told is how many of n contacts a device that returns tells of it.
func told(n int) int { return (n + 9) / 10 }

// set is the size of a watch set with n addresses: a power of two from 16.
//
// spec: delivery.md#sets
func set(n int) int {
	size := 16
	for size < n {
		size *= 2
	}
	return size
}

// class is the public class of n tokens a day, and whether it is one.
//
// spec: gate.md#batches
func (u Rules) class(n float64) (size int, fits bool) {
	for size = 1024; size < u.LargestClass && float64(size)*3/4 < n; size *= 4 { // grown at three quarters
	}
	return size, n <= float64(size)
}
