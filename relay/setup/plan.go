package setup

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tacet-chat/tacet/relay"
)

// New looks at the machine and says what would have to be done. It changes
// nothing. An error is something that no look is needed for; what the look
// finds is in Checks, and a plan with a failed one is not to be carried out.
func New(ctx context.Context, opt Options) (*Plan, error) {
	p := &Plan{opt: opt}
	if err := p.findAddress(); err != nil {
		return nil, err
	}
	cfg, steps, err := p.opt.configure()
	if err != nil {
		return nil, err
	}
	p.Config = cfg
	if p.Name, err = p.opt.name(&cfg); err != nil {
		return nil, err
	}
	status, err := relay.AskStatus(cfg.Data)
	running := err == nil
	p.look(ctx, running)
	if err := p.steps(steps, running, &status); err != nil {
		return nil, err
	}
	if opt.Onion {
		p.lookAtTor()
	}
	return p, nil
}

// findAddress puts this machine's own address where "auto" stands.
func (p *Plan) findAddress() error {
	switch {
	case p.opt.Address == "":
		return nil
	case p.opt.Address != "auto":
		a, err := netip.ParseAddr(p.opt.Address)
		if err != nil || a.Zone() != "" {
			return &relay.Problem{Err: fmt.Errorf("%q is not an address", p.opt.Address), Hint: "write it as in --ip 192.0.2.7, or a name as in --domain relay.example"}
		}
		p.opt.Address = a.String()
		return nil
	}
	own := relay.Addresses()
	if len(own) == 0 {
		return &relay.Problem{Err: fmt.Errorf("this machine has no address that others could reach"), Hint: "connect it, or name the address with --ip ADDRESS"}
	}
	p.opt.Address = own[0].String()
	return nil
}

// look runs every check that matters before anything is changed.
func (p *Plan) look(ctx context.Context, running bool) {
	add := func(name string, level relay.Level, says, hint string) {
		p.Checks = append(p.Checks, relay.Check{Name: name, Level: level, Says: says, Hint: hint})
	}
	for _, c := range relay.Doctor(ctx, p.Config) {
		switch {
		case c.Name == "name" && p.opt.Domain != "": // told below, with the lines that are missing
		case c.Name == "open files" && p.unit(): // the unit has its own
		default:
			p.Checks = append(p.Checks, c)
		}
	}
	if p.opt.Domain != "" {
		lead := relay.WhereLeads(ctx, p.opt.Domain)
		p.DNS = lead.Missing
		add("name", lead.Level, lead.Says, lead.Hint)
	}
	if a, err := netip.ParseAddr(p.opt.Address); err == nil {
		switch {
		case !relay.Public(a):
			add("address", relay.Warn, a.String()+" is known in its own network alone", "others need a router that sends them here: name its address with --ip")
		case !slices.Contains(relay.Addresses(), a):
			add("address", relay.Warn, a.String()+" is not this machine's", "right where a router there sends its port here")
		}
	}
	for _, path := range p.files() {
		if hint := cannotWrite(path); hint != "" {
			add("permission", relay.Fail, path+" cannot be written", hint)
		}
	}
	switch {
	case !p.unit():
		add("systemd", relay.OK, "it is not to run the relay", "")
	case !booted():
		add("systemd", relay.Warn, "it does not run this machine: a unit is written all the same", "start the relay as it is said below")
	default:
		add("systemd", relay.OK, "it will run the relay", "")
	}
	if dir := private(p.opt.Program); p.unit() && dir != "" {
		add("program", relay.Fail, p.opt.Program+" is out of the reach of a service", "install -m 755 "+p.opt.Program+" /usr/local/bin/ and run it from there")
	}
	if running && p.unit() && booted() && !active(p.opt.Unit) {
		add("other relay", relay.Fail, "one runs on "+p.Config.Data+", and systemd does not know it", "stop that one first")
	}
}

func (p *Plan) unit() bool { return p.opt.Unit != NoUnit }

// files are what the plan may write.
func (p *Plan) files() []string {
	if p.unit() {
		return []string{p.opt.Config, p.opt.Unit}
	}
	return []string{p.opt.Config}
}

// steps says what has to be changed.
func (p *Plan) steps(config []Step, running bool, status *relay.Status) error {
	p.Steps = config
	changed := len(config) > 0
	if p.unit() {
		u, err := Unit(p.opt.Program, p.opt.Config, &p.Config)
		if err != nil {
			return err
		}
		unit, err := writing(p.opt.Unit, u, 0o644)
		if err != nil {
			return err
		}
		changed = changed || len(unit) > 0
		if p.opt.Root {
			user, err := person()
			if err != nil {
				return err
			}
			p.Steps = append(user, p.Steps...)
		}
		p.Steps = append(p.Steps, unit...)
	}
	p.Steps = append(p.Steps, p.folder()...)
	switch {
	case p.unit() && p.opt.Root && booted():
		p.Steps = append(p.Steps, p.service(changed)...)
	case running:
	case p.unit() && p.opt.Root:
		p.Start = "runuser -u " + User + " -- " + p.opt.Program + " serve --config " + p.opt.Config
	default:
		p.Start = p.opt.Program + " serve --config " + p.opt.Config
	}
	return nil
}

// folder returns the step that makes the data directory, or none if it is there.
func (p *Plan) folder() []Step {
	dir := p.Config.Data
	if _, err := os.Lstat(dir); err == nil || dir == "" {
		return nil
	}
	return []Step{{What: "make", Of: dir, do: func(context.Context) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		return p.Own()
	}}}
}

// Own gives the data directory to the relay's user, where there is to be one.
func (p *Plan) Own() error {
	if p.unit() && p.opt.Root {
		return Own(p.Config.Data)
	}
	return nil
}

// lookAtTor says what Tor's configuration lacks.
func (p *Plan) lookAtTor() {
	want := []string{
		"HiddenServiceDir " + onionDir,
		"HiddenServicePort 443 " + p.opt.onionAt(),
		"HiddenServiceExportCircuitID haproxy",
		"HiddenServicePoWDefensesEnabled 1",
	}
	b, err := os.ReadFile("/etc/tor/torrc")
	if err != nil {
		b = nil
	}
	for _, l := range want {
		if !slices.ContainsFunc(strings.Split(string(b), "\n"), func(have string) bool { return strings.Join(strings.Fields(have), " ") == l }) {
			p.Torrc = append(p.Torrc, l)
		}
	}
}

// private returns the directory that hides a program from a service.
func private(program string) string {
	for _, dir := range []string{"/home/", "/root/", "/tmp/", "/var/tmp/", "/run/user/"} {
		if strings.HasPrefix(program, dir) {
			return dir
		}
	}
	return ""
}

// cannotWrite says what to do if a file cannot be made or replaced.
func cannotWrite(path string) (hint string) {
	dir := filepath.Dir(path)
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return dir + " is a file: name another place"
		}
		if err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "name another place"
		}
		dir = filepath.Dir(dir)
	}
	if err := writable(dir); err != nil {
		return "run quickstart as root, or name a place of your own with --config FILE and --unit none"
	}
	return ""
}
