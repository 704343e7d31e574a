package mls

// Version is the one version of the protocol, mls10.
const Version uint16 = 1

// KeyPackage is what others need to add a device to a group, once (RFC 9420, Section
// 10). It is not changed once it was made.
type KeyPackage struct {
	Version    uint16
	Suite      Suite
	InitKey    []byte // HPKE, used once
	Leaf       *LeafNode
	Extensions []Extension
	Signature  []byte
}

func readKeyPackage(r *reader) *KeyPackage {
	return &KeyPackage{
		Version:    r.u16(),
		Suite:      Suite(r.u16()),
		InitKey:    r.vec(),
		Leaf:       readLeafNode(r),
		Extensions: readExtensions(r),
		Signature:  r.vec(),
	}
}

// ParseKeyPackage reads a KeyPackage without the head of an MLSMessage. It checks
// the encoding only. It fails with ErrMalformed and ErrUnsupported.
func ParseKeyPackage(b []byte) (*KeyPackage, error) { return parse(b, "key package", readKeyPackage) }

func (k *KeyPackage) tbs(b []byte) []byte {
	b = appendU16(appendU16(b, k.Version), uint16(k.Suite))
	b = k.Leaf.append(appendVec(b, k.InitKey))
	return appendExtensions(b, k.Extensions)
}

// Append appends the encoding of the key package.
func (k *KeyPackage) Append(b []byte) []byte { return appendVec(k.tbs(b), k.Signature) }

const (
	labelKeyPackage    = "KeyPackageTBS"
	labelKeyPackageRef = "MLS 1.0 KeyPackage Reference"
)

// ref is KeyPackageRef: how a Welcome names the key package (RFC 9420, Section 5.2).
func (k *KeyPackage) ref(p *suiteParams) []byte { return p.refHash(labelKeyPackageRef, k.Append(nil)) }
