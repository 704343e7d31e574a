// Package mlspeer is a peer for the tests of internal/mls that nobody here wrote:
// npm's ts-mls (RFC 9420) in a child process of Node, spoken to with one JSON object
// a line over stdin and stdout. What speaks for it is peer.mjs beside this file.
//
// scripts/test installs the packages outside of the tree; this package installs
// nothing, and says [ErrAbsent] where there is no Node 20.19 or newer or the
// packages are not there. It knows nothing of internal/mls itself: bytes go in and
// out, so the load tool can drive it, too.
//
// What ts-mls 1.6.4 cannot do, or does otherwise than RFC 9420, and how this package
// deals with it:
//
//   - Its ECDSA keys are compressed points (5.1.1 wants uncompressed ones): suite.mjs
//     makes them itself.
//   - It derives X-Wing key pairs in another way than Go's standard library, and
//     has no number for the suite of ours: suite.mjs has both.
//   - It forgets the private key of an Update of its own: group.mjs keeps it.
//   - It reads external_senders as one sender (12.1.8.1 has a list): client.mjs
//     reads the list, and such a group's extensions cannot be changed, because it
//     refuses any GroupContextExtensions with one.
//   - It reads and writes external_pub without its length (12.4.3.2, 7.1): group.mjs
//     puts it there.
//   - It commits GroupContextExtensions without a path (17.4 requires one), and where
//     there is a path seals it for the old extensions (12.4.1 has the new ones), so
//     it takes such commits and makes none.
//   - An empty GroupContextExtensions changes nothing.
//   - It counts one step too many to the commit secret where the root is not on the
//     committer's filtered direct path (7.4), which is so once the left half of the
//     tree is empty.
//   - It wants the unmerged leaves of all nodes above a leaf to be equal (7.9 and
//     12.4.3.1 ask for the leaf alone), and so refuses to join some valid trees.
//   - A member that is removed does not see that where a newcomer gets its leaf.
//   - It joins from outside without pre-shared keys, and cannot commit with a path
//     where none is required.
package mlspeer
