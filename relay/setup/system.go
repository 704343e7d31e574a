package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/relay"
)

// startWithin bounds how long the service may take until it answers.
const startWithin = 2 * time.Minute

// booted reports whether systemd runs this machine (sd_booted(3)).
func booted() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// run runs a program of the system, and says what that said if it fails.
func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return &relay.Problem{Err: err, Hint: name + " is not on PATH: as root, `su -` sets it"}
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", name, err, first)
	}
	return nil
}

// person returns the step that makes the relay's user, or none if it is there.
func person() ([]Step, error) {
	_, err := user.Lookup(User)
	if err == nil {
		return nil, nil
	}
	if unknown := user.UnknownUserError(""); !errors.As(err, &unknown) {
		return nil, err
	}
	return []Step{{What: "make", Of: "user " + User, do: func(ctx context.Context) error {
		return run(ctx, "useradd", "--system", "--user-group", "--home-dir", "/nonexistent", "--no-create-home", "--shell", "/usr/sbin/nologin", User)
	}}}, nil
}

// service returns the step that has systemd run the unit as it now is, or none
// if it does already.
func (p *Plan) service(changed bool) []Step {
	name := filepath.Base(p.opt.Unit)
	if !changed && exec.Command("systemctl", "is-active", "--quiet", name).Run() == nil && exec.Command("systemctl", "is-enabled", "--quiet", name).Run() == nil {
		return nil
	}
	return []Step{{What: "start", Of: name, do: func(ctx context.Context) error {
		for _, args := range [][]string{{"daemon-reload"}, {"enable", "--quiet", name}, {"restart", name}} {
			if err := run(ctx, "systemctl", args...); err != nil {
				return &relay.Problem{Err: err, Hint: "`journalctl -u " + name + " -n 20` says why"}
			}
		}
		return answers(ctx, p.Config.Data, name)
	}}}
}

// answers waits until the relay of a data directory answers.
func answers(ctx context.Context, data, unit string) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := relay.AskStatus(data)
		if err == nil {
			return nil
		}
		if exec.Command("systemctl", "is-failed", "--quiet", unit).Run() == nil {
			return &relay.Problem{Err: errors.New("the relay stopped at once"), Hint: "`journalctl -u " + unit + " -n 20` says why"}
		}
		select {
		case <-ctx.Done():
			return &relay.Problem{Err: fmt.Errorf("the relay does not answer: %w", err), Hint: "`journalctl -u " + unit + " -n 20` says why"}
		case <-tick.C:
		}
	}
}

// Own gives a path to the relay's user, where this is root and there is one.
func Own(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(User)
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		return nil
	} else if err != nil {
		return err
	}
	uid, uerr := strconv.Atoi(u.Uid)
	gid, gerr := strconv.Atoi(u.Gid)
	if err := errors.Join(uerr, gerr); err != nil {
		return err
	}
	return filepath.Walk(path, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(path, uid, gid))
	})
}
