package group

import "strconv"

// What people read when something went wrong: what happened, what it means for
// their messages, and what is done or can be done.

// troubleText says why member changes wait.
func troubleText(why StopReason, relay string) string {
	const on = " Member changes are waiting; messages go on."
	switch why {
	case StopTwo:
		return "The relay " + relay + " confirmed two different changes of this group as the only one: it lies, or it lost what it kept." + on
	case StopBurnt:
		return "A member's program put something useless where a change of this group belongs." + on
	case StopGone:
		return "The relay " + relay + " has not answered for an hour." + on
	case StopSole:
		return "The one device that makes the changes of this group has not made yours for a day." + on
	case StopRemade:
		return "An admin made this group again. This device waits to be let in." + on
	}
	return "Somebody asked the members whether this group can go on." + on
}

// liedText is shown of a settled slot: nothing waits for it.
func liedText(relay string) string {
	return "The relay " + relay + " confirmed a second change where there was one already that all members have. Nothing changes and nothing is lost, but the relay lies or lost what it kept: think of moving the group."
}

// remakeText asks an admin whether to make the group again.
func remakeText(why StopReason, relay string, stopped, works, of int) string {
	t := troubleText(why, relay) + " Of " + count(of, "device") + " " + number(stopped) + " cannot go on either"
	if works > 0 {
		t += "; for " + number(works) + " it works"
	}
	t += ".\nYes: you make the group again"
	if why == StopBurnt {
		t += ", and this device alone makes its changes"
	} else {
		t += " on another relay"
	}
	return t + ", with the same members. Messages that wait move over.\nNo: you wait. After 7 days it is made again by itself if over half of the devices cannot go on."
}

// complaintText tells an admin of a commit that is good for some only.
const complaintText = "One device cannot read the last change of this group, and others can. Either the device that made the change or the one that complains is faulty or hostile. Changes wait until you make the group again without one of them, or the one that complains is added again."

// membersText asks whether to write in a successor.
const membersText = "The group was made again with people who were not in it when you last wrote, or whose removal you have seen. They would read what you write.\nYes: you write to all who are in it now.\nNo: you read on, and what waits stays here. You can say yes later, or leave."

// shownText tells that this device was removed, and by whom it was told.
const shownText = "You are not in this group any more: an admin removed you, and a member has shown it."

// waitedText is shown of a successor that did not let this device in.
const waitedText = "An admin made this group again a day ago, and nobody let this device in there. It goes on in the group as it was: who went to the new one does not hear you. It asks on to be let in, and goes there when it is."

// followText asks whether to wait for a successor.
func followText(senior bool) string {
	t := "Somebody who is an admin made this group again, and nobody has let this device in there for an hour. Changes wait; messages go to who is in the group as it was."
	t += "\nYes: this device waits, and goes there once it is let in."
	if senior {
		return t + "\nNo: you do not go along. You can make the group again yourself, which counts more than theirs: you are asked next."
	}
	return t + "\nNo: this device stays in the group as it was. Who went to the new one does not hear you there."
}

// overruleText asks a senior admin who does not go along with another's successor.
const overruleText = "You do not go along with the group as it was made again.\nYes: you make it again, with the same members and on the same relay. It counts more than the other, so everybody comes to it. Messages that wait move over.\nNo: you go on in the group as it was."

const againText = "The group was made again. The conversation goes on here; messages that waited moved over."

const soleText = "From now on one device makes the changes of this group, that of the admin who made it again. Others wish changes as before."

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

func number(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}
