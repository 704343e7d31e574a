package text

import (
	"context"
	"errors"
	"strings"

	"github.com/tacet-chat/tacet/client"
)

// Failure is an error as a person needs it: what happened, what that means for
// their messages, and what to do. Means and Hint may be empty.
type Failure struct {
	What, Means, Hint string
	Err               error
}

func (f *Failure) Error() string { return f.What }
func (f *Failure) Unwrap() error { return f.Err }

const (
	nothing = "Nothing was sent or changed."
	unsent  = "Nothing was sent."
	waiting = "Messages that wait stay on this device; nothing is lost."
)

// failures says what the client's errors mean. What is what the error says.
var failures = []struct {
	err         error
	means, hint string
}{
	{client.ErrExists, "", "`tacet status` shows it; `--profile NAME` makes another one"},
	{client.ErrMissing, "", "`tacet init` makes one, `tacet recover` makes a new device from 24 words; `--profile NAME` is for another one"},
	{client.ErrPassphrase, "The profile stays closed. " + nothing, "try again; nobody can reset a passphrase, not even a relay"},
	{client.ErrDamaged, "Tacet does not open what it cannot trust. " + nothing, "keep the folder as it is and put a copy back if there is one; otherwise `tacet recover` with your 24 words in a new folder: contacts and history are not in the words"},
	{client.ErrNewer, nothing, "install the newer version of tacet again"},
	{client.ErrFull, waiting, "make room and try again"},
	{client.ErrLocked, nothing, "end the process that has it, or wait until it ends"},
	{client.ErrContact, unsent, "`tacet contacts` lists everybody"},
	{client.ErrName, "", "choose another name; names are yours alone, nobody else sees them"},
	{client.ErrNoInvite, "", "`tacet invite list` shows your invites and their numbers"},
	{client.ErrLink, "", "a link looks like tacet://relay.example/i#…; paste all of it, in quotes, or give `-` and paste it into standard input"},
	{client.ErrSeveral, "", "give the one that you mean, alone"},
	{client.ErrLinkTypo, "", "copy the whole link again; one character is wrong or missing"},
	{client.ErrLinkNewer, "", "install a newer version of tacet"},
	{client.ErrLinkOlder, nothing, "ask its maker to install a newer version of tacet and to make a new link"},
	{client.ErrUsed, nothing, "an invite for one person works once; its maker makes another with `tacet invite new`. If it was made just now, its maker's device may not have reached the relay yet: `tacet invite list` tells them"},
	{client.ErrForged, "Somebody tampered with it on the way or at the relay. " + nothing, "ask for a new link over a way that you trust, and tell its maker"},
	{client.ErrRelayKey, "Whoever answers is not the relay that was meant. " + nothing, "do not go on; ask the relay's operator for its key fingerprint"},
	{client.ErrRealmUsed, nothing, "ask the realm's operator or a member for another invite; `tacet-relay invite` makes one"},
	{client.ErrRealmShut, nothing, "ask the realm's operator; a closed realm lets nobody in, whatever invites there are"},
	{client.ErrNeedInvite, nothing, "ask the maker of the link for one that brings a membership, or the relay's operator for an invite to the realm; `tacet accept` takes both"},
	{client.ErrNoTokens, waiting, "`tacet status` says until when; people on another relay need an invite for one person, which brings tokens"},
	{client.ErrTokenKeys, "By such keys a relay could tell people apart. " + nothing, "do not go on; ask the relay's operator, and others whether they see the same"},
	{client.ErrFronted, "Whoever runs that program would see who uses the relay. " + nothing, "if you accept that: the same again with `--allow-proxied RELAY`, the relay's name as in the link"},
	{client.ErrOwnInvite, "", "give the link to the person whom you want to talk with"},
	{client.ErrKnown, "", "`tacet contacts` shows under which name"},
	{client.ErrStopped, unsent, "`tacet contacts show NAME` says why; compare safety numbers, then `tacet contacts trust NAME`"},
	{client.ErrNotYet, unsent, "`tacet requests accept NAME`"},
	{client.ErrRefusedTo, unsent, "the contact is blocked, declined or could not be reached; a new invite starts again"},
	{client.ErrGone, "", "`tacet read` shows the numbers of what still waits"},
	{client.ErrSent, "It may be on their device already.", "a message can be taken back until a process tries to send it"},
	{client.ErrEmpty, unsent, "give a text, or pipe one in"},
	{client.ErrLong, unsent, "send it in parts: a message holds about 60,000 bytes, the first one of an invite 900, or 700 if the two of you are on different relays"},
	{client.ErrState, "", "`tacet contacts show NAME` says how you stand"},
	{client.ErrWords, "", "look for a wrong or a missing word; numbers and line breaks between them do not matter"},
	{client.ErrNoRelay, "", "accept an invite, which brings its relay; or make the profile with `--relay HOST`"},
	{client.ErrForeign, waiting, "does this network have a sign-in page? Open any web page in a browser to see, and try again"},
	{client.ErrEndpoint, nothing, "the endpoint is an https URL of at most 658 characters, at port 443 of a public address, as your push client gave it; with --unifiedpush it has to say that it is one"},
	{client.ErrNoGateway, nothing, "name one with --gateway: a relay with the role wake"},
	{client.ErrSameOperator, "Nothing was set. Whoever runs both can tell which addresses of the relay are this device's.", "name a relay of somebody else with --gateway, or say --accept-same-operator"},
	{client.ErrPushService, nothing, "look whether the endpoint is still the one that your push client shows, and try again in a minute"},
	{client.ErrNoWake, nothing, "`tacet wake set URL` sets one"},
	{client.ErrCode, nothing, "a code looks like tacet://relay.example/d#…; `tacet device link` on the device that you have shows one"},
	{client.ErrCodeNewer, nothing, "install the newer version of tacet here, too"},
	{client.ErrCodeUsed, "Another device answered it first. This one has nothing of yours.", "type no digits that you do not see here; give the link up on the other device, and make a new code where nobody else can see it"},
	{client.ErrCodeOver, nothing, "`tacet device link` on the device that you have shows a new one; if it is not over there, compare the two clocks"},
	{client.ErrLinkLate, "This device has nothing of yours.", "`tacet device link` on the device that you have makes a new code; keep both connected until it is done"},
	{client.ErrNoLink, "", "`tacet device link` begins one"},
	{client.ErrLinking, nothing, "`tacet device link` shows how far it is, `tacet device link --cancel` gives it up; on the new device, `tacet device join --abandon`"},
	{client.ErrDigits, "No device was linked.", "type what the new device shows; if it shows other digits, or none, another device used the code"},
	{client.ErrNotRoot, nothing, "`tacet device list` on the device that you had first shows that it holds the root"},
	{client.ErrUnlinked, nothing, "`tacet device join` goes on with it, `tacet device join --abandon` gives it up"},
	{client.ErrGivenUp, "This device has nothing of yours.", "`tacet device link` there makes a new code"},
	{client.ErrPack, "It may have been changed on the way or at the relay. The link is given up, and this device has nothing of yours.", "try again; both devices need the same version of tacet"},
	{client.ErrDevices, nothing, "`tacet device revoke` takes one off the list that you do not use any more"},
	{client.ErrDevice, nothing, "`tacet device list` shows them; #2 means the one with that number"},
	{client.ErrThisDevice, nothing, "revoke it from another device that holds the root"},
	{client.ErrRootStays, nothing, "take the other devices off the list instead, or keep this one"},
	{client.ErrNetwork, waiting, "check the network and the relay's name; `tacet doctor` looks closer"},
	{client.ErrGroup, unsent, "`tacet group list` lists your groups"},
	{client.ErrTwo, unsent, ""},
	{client.ErrNoMember, nothing, "`tacet group show GROUP` lists who is in it"},
	{client.ErrLeftGroup, unsent, "an admin of the group can add you again"},
	{client.ErrEntering, unsent, "let your first device run for a minute"},
	{client.ErrRight, nothing, "`tacet group show GROUP` lists its admins; an admin can act only on those who came after them"},
	{client.ErrAsk, unsent, "`tacet group show GROUP`"},
	{client.ErrNoQuestion, nothing, "`tacet group show GROUP` lists what it asks"},
	{client.ErrNoGroupChange, nothing, "`tacet group show GROUP` says how it stands"},
	{client.ErrGroupFull, nothing, "wait until what is wanted of it already is done"},
	{client.ErrKeepGroup, unsent, "send it without --keep"},
	{client.ErrPicture, nothing, "a JPEG, PNG or GIF file of up to 10 MiB and 40 megapixels can be used"},
	{client.ErrPictureAway, "A member's device gives it to this one when both are there.", "let this device run for a few minutes"},
	{client.ErrRunning, "", ""},
	{client.ErrClosed, waiting, "try again"},
}

// Explain says an error for people. It returns nil for nil.
func Explain(err error) *Failure {
	if err == nil {
		return nil
	}
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f
	}
	what := Line(err.Error())
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return &Failure{What: what, Means: f.means, Hint: f.hint, Err: err}
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Failure{What: "stopped", Means: waiting, Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{What: "it took too long", Means: waiting, Hint: "try again; `tacet doctor` looks closer", Err: err}
	}
	return &Failure{What: what, Err: err}
}

// Text writes a failure: "error:", what it means on a line of its own, "hint:".
func (f *Failure) Text(s Style) string {
	var b strings.Builder
	b.WriteString(s.Bad("error:") + " " + Line(f.What) + "\n")
	if f.Means != "" {
		b.WriteString("       " + Line(f.Means) + "\n")
	}
	if f.Hint != "" {
		b.WriteString(s.Bold("hint:") + " " + Line(f.Hint) + "\n")
	}
	return b.String()
}
