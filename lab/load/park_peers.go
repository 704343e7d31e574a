package load

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/tacet-chat/tacet/lab/servers"
)

// parkPostgres is a plain durable table: what one would write first.
func parkPostgres(ctx context.Context, workers int) (*subject, error) {
	pg, err := servers.StartPostgres(servers.PostgresOptions{Durable: true, Settings: []string{fmt.Sprint("max_connections = ", workers+8)}})
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(pg.URL(""))
	if err != nil {
		pg.Close()
		return nil, err
	}
	cfg.MaxConns = int32(workers)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err == nil {
		_, err = pool.Exec(ctx, "CREATE TABLE parked (address bytea, id bytea, until bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (address, id))")
	}
	if err != nil {
		pg.Close()
		return nil, err
	}
	end := func() {
		pool.Close()
		pg.Close()
	}
	return &subject{name: subjectPostgres, end: end, turn: func(ctx context.Context, workers, batch int) (int64, error) {
		return drive(ctx, workers, batch, func() (cycler, func(), error) {
			return func(cells [][]byte) error { return pgCycle(context.WithoutCancel(ctx), pool, cells) }, func() {}, nil
		})
	}}, nil
}

func pgCycle(ctx context.Context, pool *pgxpool.Pool, cells [][]byte) error {
	address, ids := make([]byte, 32), make([][]byte, len(cells))
	crand.Read(address)
	for i := range ids {
		ids[i] = make([]byte, 16)
		crand.Read(ids[i])
	}
	if _, err := pool.Exec(ctx, "INSERT INTO parked SELECT $1, i, 0, b FROM unnest($2::bytea[], $3::bytea[]) AS x(i, b)", address, ids, cells); err != nil {
		return err
	}
	rows, err := pool.Query(ctx, "SELECT id, body FROM parked WHERE address = $1", address)
	if err != nil {
		return err
	}
	var got [][]byte
	for rows.Next() {
		var id, body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		got = append(got, id)
	}
	if err := rows.Err(); err != nil || len(got) != len(cells) {
		return fmt.Errorf("%w: %d rows of %d: %w", errCycle, len(got), len(cells), err)
	}
	_, err = pool.Exec(ctx, "DELETE FROM parked WHERE address = $1 AND id = ANY($2)", address, got)
	return err
}

// parkRabbit is a durable queue for each worker, with persistent messages that
// the server confirms.
func parkRabbit(_ context.Context, workers int) (*subject, error) {
	r, err := servers.StartRabbit()
	if err != nil {
		return nil, err
	}
	var n atomic.Int64
	return &subject{name: subjectRabbit, end: r.Close, turn: func(ctx context.Context, workers, batch int) (int64, error) {
		return drive(ctx, workers, batch, func() (cycler, func(), error) {
			return rabbitWorker(context.WithoutCancel(ctx), r.URL(), fmt.Sprint("park", n.Add(1)), batch)
		})
	}}, nil
}

func rabbitWorker(ctx context.Context, url, queue string, batch int) (cycler, func(), error) {
	c, err := amqp.Dial(url)
	if err != nil {
		return nil, nil, err
	}
	ch, err := c.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err == nil {
		_, err = ch.QueueDeclare(queue, true, false, false, false, nil)
	}
	if err == nil {
		err = ch.Qos(batch, 0, false)
	}
	var come <-chan amqp.Delivery
	if err == nil {
		come, err = ch.Consume(queue, "", false, false, false, false, nil)
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	cycle := func(cells [][]byte) error {
		var words []*amqp.DeferredConfirmation
		for _, b := range cells {
			d, err := ch.PublishWithDeferredConfirm("", queue, false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: b})
			if err != nil {
				return err
			}
			words = append(words, d)
		}
		for _, d := range words {
			if ok, err := d.WaitContext(ctx); !ok || err != nil {
				return fmt.Errorf("%w: not confirmed: %w", errCycle, err)
			}
		}
		var last amqp.Delivery
		for range cells {
			d, on := <-come
			if !on {
				return errCycle
			}
			last = d
		}
		return last.Ack(true)
	}
	end := func() {
		ch.QueueDelete(queue, false, false, false)
		c.Close()
	}
	return cycle, end, nil
}
