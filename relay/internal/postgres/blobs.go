package postgres

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
)

const (
	recordCost = 256 // bytes that a record counts beside its content
	sweepBatch = 256 // rows that one step of a sweep takes
	tries      = 4   // of a put that meets a record, or the table of an epoch, just as that goes
)

// Blobs is a blob.Store.
type Blobs struct {
	*DB
	max int64
}

// Blobs returns the store of blobs, which takes max bytes. All nodes say the same.
func (d *DB) Blobs(max int64) *Blobs { return &Blobs{d, max} }

// Receipts returns the key that signs receipts.
func (b *Blobs) Receipts() key.Sign { return b.sign }

// What is asked of the tables of blobs. Each is one statement, so one
// transaction, and touches table used last: nobody waits in a circle.
const (
	sqlCreate = `WITH r AS (
		INSERT INTO record SELECT $1, $2, $3, $4, $5 WHERE (SELECT sum(bytes) FROM used) + $6::bigint <= $7::bigint
		ON CONFLICT (id) DO NOTHING RETURNING id
	), c AS (INSERT INTO content SELECT id, $8 FROM r), u AS (
		UPDATE used SET bytes = bytes + $6 WHERE part = $9 AND EXISTS (SELECT FROM r)
	) SELECT count(*), (SELECT sum(bytes) FROM used) + $6 > $7 FROM r`

	sqlFind = `SELECT hash, coalesce(until, 0) FROM record WHERE id = $1`

	sqlGet = `SELECT hash, coalesce(until, 0), body FROM record LEFT JOIN content USING (id) WHERE id = $1`

	sqlDelete = `WITH r AS (
		UPDATE record SET capability = NULL, until = NULL WHERE id = $1 AND capability = $2 AND until > $3 RETURNING id
	), c AS (DELETE FROM content USING r WHERE content.id = r.id RETURNING octet_length(body) AS n), u AS (
		UPDATE used SET bytes = bytes - (SELECT n FROM c) WHERE part = $4 AND EXISTS (SELECT FROM c)
	) SELECT count(*) FROM r`

	sqlExpire = `WITH due AS (
		SELECT id FROM record WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
	), r AS (UPDATE record SET capability = NULL, until = NULL FROM due WHERE record.id = due.id), c AS (
		DELETE FROM content USING due WHERE content.id = due.id RETURNING octet_length(body) AS n
	), u AS (UPDATE used SET bytes = bytes - (SELECT sum(n) FROM c) WHERE part = $3 AND EXISTS (SELECT FROM c))
	SELECT count(*) FROM due`

	sqlForget = `WITH due AS (
		SELECT id FROM record WHERE forget <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
	), r AS (DELETE FROM record USING due WHERE record.id = due.id), u AS (
		UPDATE used SET bytes = bytes - $4::bigint * (SELECT count(*) FROM due) WHERE part = $3
	) SELECT count(*) FROM due`

	sqlCount = `SELECT count(*) FROM record WHERE until IS NOT NULL`
)

func part() int { return rand.IntN(parts) }

// Create keeps e unless its id is taken, and returns once it is on disk.
func (b *Blobs) Create(ctx context.Context, e *blob.Entry, today blob.Day) (hash [32]byte, err error) {
	var capability []byte
	if e.Capability != [32]byte{} {
		capability = e.Capability[:]
	}
	cost := recordCost + int64(len(e.Content))
	for range tries {
		var made int
		var full bool
		err := b.one(ctx, []any{&made, &full}, sqlCreate,
			e.ID[:], e.Hash[:], capability, int32(e.Until), int32(e.Forget), cost, b.max, e.Content, part())
		if err != nil {
			return hash, err
		}
		if made == 1 {
			return e.Hash, nil
		}
		hash, err = b.find(ctx, e.ID, today)
		if !errors.Is(err, blob.ErrNotFound) {
			return hash, err
		}
		if full {
			return hash, blob.ErrFull
		}
	}
	return hash, errors.New("a record came and went too often")
}

// find returns the hash of what has the id, and ErrGone with it if only the
// record is left.
func (b *Blobs) find(ctx context.Context, id wire.BlobID, today blob.Day) (hash [32]byte, err error) {
	var h []byte
	var until int32
	err = b.one(ctx, []any{&h, &until}, sqlFind, id[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return hash, blob.ErrNotFound
	} else if err != nil {
		return hash, err
	}
	copy(hash[:], h)
	if int64(today) >= int64(until) {
		return hash, blob.ErrGone
	}
	return hash, nil
}

// Get returns the content of a blob and its hash.
func (b *Blobs) Get(ctx context.Context, id wire.BlobID, today blob.Day) (content []byte, hash [32]byte, err error) {
	var h []byte
	var until int32
	err = b.one(ctx, []any{&h, &until, &content}, sqlGet, id[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, hash, blob.ErrNotFound
	} else if err != nil {
		return nil, hash, err
	}
	copy(hash[:], h)
	if int64(today) >= int64(until) {
		return nil, hash, blob.ErrGone
	}
	if content == nil {
		return nil, hash, errors.New("a record has no content")
	}
	return content, hash, nil
}

// Delete deletes the content of a blob and keeps its record.
func (b *Blobs) Delete(ctx context.Context, id wire.BlobID, capability [32]byte, today blob.Day) error {
	var gone int
	err := b.one(ctx, []any{&gone}, sqlDelete, id[:], capability[:], int32(today), part())
	if err != nil || gone == 1 {
		return err
	}
	if _, err := b.find(ctx, id, today); err != nil {
		return err
	}
	return blob.ErrDenied
}

// Sweep deletes what has reached its end. Nodes that sweep at the same time
// share the work.
func (b *Blobs) Sweep(ctx context.Context, today blob.Day) (left int, err error) {
	for _, step := range []struct {
		sql  string
		more []any
	}{{sqlExpire, nil}, {sqlForget, []any{int64(recordCost)}}} {
		all := 0
		for {
			var n int
			args := append([]any{int32(today), sweepBatch, part()}, step.more...)
			if err := b.one(ctx, []any{&n}, step.sql, args...); err != nil {
				return 0, err
			}
			all += n
			if n < sweepBatch {
				break
			}
		}
		if all > 0 { // sooner than PostgreSQL would by itself
			if _, err := b.exec(ctx, "VACUUM (SKIP_LOCKED) record, content, used"); err != nil {
				return 0, err
			}
		}
	}
	err = b.one(ctx, []any{&left}, sqlCount)
	return left, err
}

var _ blob.Store = (*Blobs)(nil)
