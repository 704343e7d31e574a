package mls

// Bounds of what one member can put before all others. RFC 9420 has none: a leaf, or an
// extension of the group, of many megabytes would travel with every Welcome, be hashed
// with every message, and leave no room in a Welcome for the other members' leaves. They
// hold for what is made here, too.
const (
	maxLeafSize        = 64 << 10  // bytes of an encoded leaf node, without its signature
	maxPackageSize     = 128 << 10 // of an encoded key package, without its signature
	maxGroupExtensions = 256 << 10 // of the encoded extensions of a group context
	maxCapabilities    = 1024      // entries of a list of capabilities, required ones too
	maxProposals       = 1 << 14   // proposals of one commit
)
