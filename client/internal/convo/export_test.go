package convo

import (
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// TellAs sends any content to a device, as somebody hostile would.
func (e *Engine) TellAs(tx Tx, now time.Time, id int64, c *content.Content) (*Change, error) {
	ch := &Change{}
	r, err := tx.Contact(id)
	if err != nil {
		return nil, err
	}
	_, err = e.write(tx, now, r, c, Row{}, ch)
	return ch, err
}

// ListFrom takes a list of devices of a person, by whatever way it came.
func (e *Engine) ListFrom(tx Tx, now time.Time, p *contact.Record, m *manifest.Manifest) (*Change, error) {
	ch := &Change{}
	return ch, e.theirManifest(tx, now, p, m, ch)
}
