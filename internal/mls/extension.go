package mls

import "slices"

// ExtensionType is the number of an extension (RFC 9420, Section 17.3).
type ExtensionType uint16

const (
	ExtApplicationID        ExtensionType = 1 // leaf node
	ExtRatchetTree          ExtensionType = 2 // group info
	ExtRequiredCapabilities ExtensionType = 3 // group context
	ExtExternalPub          ExtensionType = 4 // group info
	ExtExternalSenders      ExtensionType = 5 // group context
)

// builtin reports whether every member understands the extension without saying so
// (RFC 9420, Section 7.2).
func (t ExtensionType) builtin() bool { return t >= ExtApplicationID && t <= ExtExternalSenders }

// Extension is an extension of a key package, leaf node, group info or group
// context (RFC 9420, Section 13).
type Extension struct {
	Type ExtensionType
	Data []byte
}

func readExtension(r *reader) Extension {
	return Extension{Type: ExtensionType(r.u16()), Data: r.vec()}
}

func (e Extension) append(b []byte) []byte { return appendVec(appendU16(b, uint16(e.Type)), e.Data) }

func readExtensions(r *reader) []Extension { return listOf(r, maxExtensions, readExtension) }

func appendExtensions(b []byte, list []Extension) []byte {
	return appendList(b, list, func(b []byte, e Extension) []byte { return e.append(b) })
}

// maxExtensions is how many extensions, or external senders, one list may have.
const maxExtensions = 1024

// findExtension is the data of an extension, if it is there.
func findExtension(list []Extension, t ExtensionType) ([]byte, bool) {
	i := slices.IndexFunc(list, func(e Extension) bool { return e.Type == t })
	if i < 0 {
		return nil, false
	}
	return list[i].Data, true
}

// distinct reports whether no type stands twice in the list (RFC 9420, Section 13.4).
func distinct(list []Extension) bool {
	seen := make(map[ExtensionType]bool, len(list))
	for _, e := range list {
		if seen[e.Type] {
			return false
		}
		seen[e.Type] = true
	}
	return true
}

// ExternalSender is somebody outside of a group who may propose (RFC 9420, Section
// 12.1.8.1).
type ExternalSender struct {
	SignatureKey []byte
	Credential   Credential
}

// ExternalSendersExtension is the extension of a group context that lists them. A
// sender is named by its place.
func ExternalSendersExtension(senders []ExternalSender) Extension {
	data := appendList(nil, senders, func(b []byte, s ExternalSender) []byte {
		return s.Credential.append(appendVec(b, s.SignatureKey))
	})
	return Extension{Type: ExtExternalSenders, Data: data}
}

func parseExternalSenders(data []byte) ([]ExternalSender, error) {
	return parse(data, "external senders", func(r *reader) []ExternalSender {
		return listOf(r, maxExtensions, func(r *reader) ExternalSender {
			return ExternalSender{SignatureKey: r.vec(), Credential: readCredential(r)}
		})
	})
}
