package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Members is a gate.Members.
type Members struct{ *DB }

// Members returns the store of invites and credentials.
func (d *DB) Members() *Members { return &Members{d} }

// AddInvite adds an invite, unless there is one with its hash.
func (m *Members) AddInvite(ctx context.Context, i gate.Invite) error {
	_, err := m.exec(ctx, "INSERT INTO invite VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", i.Hash[:], int32(i.Uses), int32(i.Last))
	return err
}

// Join takes a use of an invite and adds a credential.
func (m *Members) Join(ctx context.Context, invite, credential [32]byte, today gate.Day) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return explain(pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		made, err := tx.Exec(ctx, "INSERT INTO member VALUES ($1) ON CONFLICT DO NOTHING", credential[:])
		if err != nil || made.RowsAffected() == 0 {
			return err // it is there already
		}
		var left int32
		err = tx.QueryRow(ctx, "UPDATE invite SET uses = uses - 1 WHERE hash = $1 AND last >= $2 AND uses > 0 RETURNING uses", invite[:], int32(today)).Scan(&left)
		if errors.Is(err, pgx.ErrNoRows) {
			return gate.ErrNoInvite // which takes the credential back
		}
		if err == nil && left == 0 {
			_, err = tx.Exec(ctx, "DELETE FROM invite WHERE hash = $1", invite[:])
		}
		return err
	}))
}

// Member reports whether a credential is there.
func (m *Members) Member(ctx context.Context, credential [32]byte) (is bool, err error) {
	err = m.one(ctx, []any{&is}, "SELECT EXISTS (SELECT FROM member WHERE credential = $1)", credential[:])
	return is, err
}

// Invites lists the invites that can be used today.
func (m *Members) Invites(ctx context.Context, today gate.Day) (all []gate.Invite, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	rows, err := m.pool.Query(ctx, "SELECT hash, uses, last FROM invite WHERE last >= $1 ORDER BY hash", int32(today))
	if err != nil {
		return nil, explain(err)
	}
	var hash []byte
	var uses, last int32
	_, err = pgx.ForEachRow(rows, []any{&hash, &uses, &last}, func() error {
		i := gate.Invite{Uses: uint16(uses), Last: gate.Day(last)}
		copy(i.Hash[:], hash)
		all = append(all, i)
		return nil
	})
	return all, explain(err)
}

// Revoke deletes an invite.
func (m *Members) Revoke(ctx context.Context, hash [32]byte) error {
	n, err := m.exec(ctx, "DELETE FROM invite WHERE hash = $1", hash[:])
	if err == nil && n == 0 {
		return gate.ErrNoInvite
	}
	return err
}

// Sweep deletes the invites that are over.
func (m *Members) Sweep(ctx context.Context, today gate.Day) error {
	n, err := m.exec(ctx, "DELETE FROM invite WHERE last < $1", int32(today))
	if err == nil && n > 0 {
		_, err = m.exec(ctx, "VACUUM (SKIP_LOCKED) invite")
	}
	return err
}

// Raise runs make with a day that is at least at, and above every day that it was
// run with before. It runs for one node at a time, and the day counts as used
// before make has it.
func (d *DB) Raise(ctx context.Context, at gate.Day, make func(gate.Day) error) error {
	return d.alone(ctx, func(c *pgx.Conn) error {
		var day int32
		if err := c.QueryRow(ctx, "UPDATE tacet SET began = greatest(began + 1, $1) RETURNING began", int32(at)).Scan(&day); err != nil {
			return err
		}
		return make(gate.Day(day))
	})
}

var _ gate.Members = (*Members)(nil)
