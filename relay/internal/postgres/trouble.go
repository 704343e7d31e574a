package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tacet-chat/tacet/relay/internal/blob"
)

// explain joins PostgreSQL's reasons with the errors that callers branch on.
func explain(err error) error {
	var (
		server  *pgconn.PgError
		connect *pgconn.ConnectError
		network net.Error
	)
	switch {
	case err == nil, errors.Is(err, pgx.ErrNoRows), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ErrReplaced), errors.Is(err, ErrForeign), errors.Is(err, ErrNewer), errors.Is(err, ErrURL), errors.Is(err, ErrPlain):
		return err
	case errors.As(err, &server):
		return explainServer(err, server.Code)
	case errors.As(err, &connect), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded), pgconn.SafeToRetry(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// explainServer goes by the class of an error that the server gave.
func explainServer(err error, code string) error {
	switch {
	case code == "53100": // disk full
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case code[:2] == "28", code == "3D000", code == "42501": // authorization, no such database, privilege
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case code[:2] == "57", code[:2] == "08", code == "53300": // it stops or starts, or has no place
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}
