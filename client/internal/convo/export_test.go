package convo

import (
	"time"

	"github.com/tacet-chat/tacet/internal/content"
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
