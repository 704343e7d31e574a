/*
 * The ratchet with encrypted headers and the keys of the braid beside it
 * (docs/spec/session.md, docs/spec/braid.md): two ends, and a network that loses,
 * overtakes, repeats and damages. What is modelled and what is not: README.md
 * beside this file.
 *
 *   spin -a ratchet.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * With -DFAULT_n one rule is broken, and spin must object.
 */

#ifndef MSGS
#define MSGS 5 /* messages that each end sends */
#endif
#define CHAINS (2 * MSGS + 3)
#define TURNS  2 /* epochs of the braid that are completed on the way */

/* A chain is the number of the step of the root key that began it: those of end 0,
   the initiator, are odd. It has a header key of its own. */
byte csend[2] = { 1, 0 };  /* running sending chain; 0: none yet */
byte crecv[2];             /* running receiving chain; 0: none yet */
byte ns[2], nr[2], pn[2];
byte own[2], peer[2];      /* ratchet keys, by their number; the responder's 0 is its signed prekey */
byte root[2] = { 1, 0 };   /* steps of the root key */
byte with0[CHAINS];        /* the agreement of each step at end 0: 16 * key of 0 + key of 1, + 1 */
byte with1[CHAINS];
short aside[2 * CHAINS];   /* EC keys set aside: one bit for each number of a chain */

/* The braid's chains. Who may go over to an epoch first, and that the other has
   its key by then, is what braid.pml shows. */
byte bsend[2], bnum[2], bprev[2]; /* epoch of the sending chain, next number, messages in the one before */
byte brecv[2], bgot[2];           /* epoch of the receiving chain, next number */
short baside[2 * (TURNS + 1)];

/* Messages as they were sent, for ever on offer. */
byte count[2];
typedef message { byte c, pn, n, dh, be, bn, bp; bit opened }
message msg[2 * MSGS];
#define M(s, i) msg[(s) * MSGS + (i)]

/* A copy of the receiving end, which becomes the state if the block opens. */
byte x, y, i, j, c1, nr1, own1, peer1, root1, csend1, ns1, pn1, be1, bgot1, bprev1, bnum1, bs1;
short a0, b0;
bit ok, good, turned, bturned;

inline agree(e, step, what) {
	if
	:: e == 0 -> with0[step] = what
	:: else   -> with1[step] = what
	fi;
	/* Both ends have one root key, step by step. */
	assert(with0[step] == 0 || with1[step] == 0 || with0[step] == with1[step])
}

#define PAIR(e, mine, theirs) ((e) == 0 -> 16 * (mine) + (theirs) + 1 : 16 * (theirs) + (mine) + 1)

inline send(s) {
	for (i : 0 .. MSGS - 1) {
		if
		:: i < count[s] ->
			/* No key twice, of either ratchet. */
			assert(M(s, i).c != csend[s] || M(s, i).n != ns[s]);
			assert(M(s, i).be != bsend[s] || M(s, i).bn != bnum[s])
		:: else
		fi
	}
	M(s, count[s]).c = csend[s];
	M(s, count[s]).pn = pn[s];
	M(s, count[s]).n = ns[s];
	M(s, count[s]).dh = own[s];
	M(s, count[s]).be = bsend[s];
	M(s, count[s]).bn = bnum[s];
	M(s, count[s]).bp = bprev[s];
	count[s] = count[s] + 1;
#ifdef FAULT_1 /* a chain's number is not moved on after a turn */
	if :: pn[s] == 0 -> ns[s] = ns[s] + 1 :: else fi;
#else
	ns[s] = ns[s] + 1;
#endif
	bnum[s] = bnum[s] + 1;
	i = 0
}

/* bits(from, to) has a bit for each number from … to - 1. */
#define BITS(from, to) ((to) > (from) -> ((1 << (to)) - 1) & ~((1 << (from)) - 1) : 0)

/* Message j of end y comes to end x; good: nobody changed its block. */
inline receive() {
	c1 = crecv[x]; nr1 = nr[x]; own1 = own[x]; peer1 = peer[x]; root1 = root[x];
	csend1 = csend[x]; ns1 = ns[x]; pn1 = pn[x];
	be1 = brecv[x]; bgot1 = bgot[x]; bs1 = bsend[x]; bnum1 = bnum[x]; bprev1 = bprev[x];
	a0 = aside[x * CHAINS + c1];
	ok = 0; turned = 0; bturned = 0;
	if
	:: M(y, j).c == crecv[x] && M(y, j).n >= nr[x] ->
		a0 = a0 | BITS(nr[x], M(y, j).n);
		nr1 = M(y, j).n + 1;
		ok = 1
	:: M(y, j).c == (crecv[x] == 0 -> 1 + y : crecv[x] + 2) ->
		/* DHRatchetHE: the other end has begun a new chain. */
		turned = 1;
#ifndef FAULT_2 /* with it: the rest of the chain that ends is not set aside */
		a0 = a0 | BITS(nr[x], M(y, j).pn);
#endif
		peer1 = M(y, j).dh;
		root1 = root[x] + 1;
		c1 = root1;
#ifdef FAULT_3 /* the fresh key of our own is agreed with too early */
		own1 = own[x] + 1;
#endif
		assert(c1 == M(y, j).c);
		agree(x, root1, PAIR(x, own1, peer1));
		nr1 = M(y, j).n + 1;
#ifndef FAULT_3
		own1 = own[x] + 1;
#endif
		root1 = root1 + 1;
		agree(x, root1, PAIR(x, own1, peer1));
		csend1 = root1; pn1 = ns[x]; ns1 = 0;
		ok = 1
	:: M(y, j).c <= crecv[x] && !(M(y, j).c == crecv[x] && M(y, j).n >= nr[x]) ->
		/* Of an old chain, or overtaken: only a key that was set aside will do. */
		ok = (aside[x * CHAINS + M(y, j).c] >> M(y, j).n) & 1
	fi;
	/* The braid's key of the same message. */
	b0 = baside[x * (TURNS + 1) + be1];
	if
	:: M(y, j).be == brecv[x] && M(y, j).bn >= bgot[x] ->
		b0 = b0 | BITS(bgot[x], M(y, j).bn);
		bgot1 = M(y, j).bn + 1
	:: M(y, j).be == brecv[x] + 1 ->
		bturned = 1;
#ifndef FAULT_4 /* with it: the rest of the braid's chain that ends is not set aside */
		b0 = b0 | BITS(bgot[x], M(y, j).bp);
#endif
		be1 = brecv[x] + 1;
		bgot1 = M(y, j).bn + 1;
		if
		:: bs1 < be1 -> /* it is the sign to go over, too */
			bs1 = be1; bprev1 = bnum1; bnum1 = 0
		:: else
		fi
	:: M(y, j).be < brecv[x] || M(y, j).be == brecv[x] && M(y, j).bn < bgot[x] ->
		ok = ok & ((baside[x * (TURNS + 1) + M(y, j).be] >> M(y, j).bn) & 1)
	fi;
	/* What was not opened before opens, in whatever order it comes; what was does not. */
	assert(ok == !M(y, j).opened);
#ifdef FAULT_5 /* the copy is kept although the block did not open */
	if
	:: ok ->
#else
	if
	:: ok && good ->
#endif
		if
		:: good -> M(y, j).opened = 1
		:: else
		fi;
		aside[x * CHAINS + crecv[x]] = a0;
		if
		:: turned -> aside[x * CHAINS + c1] = BITS(0, M(y, j).n)
		:: M(y, j).c < c1 || M(y, j).n + 1 < nr1 ->
#ifndef FAULT_6 /* with it: a key that was set aside is kept when it was used */
			aside[x * CHAINS + M(y, j).c] = aside[x * CHAINS + M(y, j).c] & ~(1 << M(y, j).n)
#else
			skip
#endif
		:: else
		fi;
		crecv[x] = c1; nr[x] = nr1; own[x] = own1; peer[x] = peer1; root[x] = root1;
		csend[x] = csend1; ns[x] = ns1; pn[x] = pn1;
		braid_commit()
	:: else ->
#ifdef FAULT_7 /* the braid's half is kept although the block did not open */
		if :: ok -> braid_commit() :: else fi
#else
		skip
#endif
	fi;
	c1 = 0; nr1 = 0; own1 = 0; peer1 = 0; root1 = 0; csend1 = 0; ns1 = 0; pn1 = 0;
	be1 = 0; bgot1 = 0; bs1 = 0; bnum1 = 0; bprev1 = 0; a0 = 0; b0 = 0; ok = 0; turned = 0; bturned = 0
}

inline braid_commit() {
	baside[x * (TURNS + 1) + brecv[x]] = b0;
	if
	:: bturned -> baside[x * (TURNS + 1) + be1] = BITS(0, M(y, j).bn)
	:: M(y, j).be < be1 || M(y, j).bn + 1 < bgot1 ->
#ifndef FAULT_6
		baside[x * (TURNS + 1) + M(y, j).be] = baside[x * (TURNS + 1) + M(y, j).be] & ~(1 << M(y, j).bn)
#else
		skip
#endif
	:: else
	fi;
	brecv[x] = be1; bgot[x] = bgot1; bsend[x] = bs1; bnum[x] = bnum1; bprev[x] = bprev1
}

active proctype network() {
	atomic { agree(0, 1, PAIR(0, 0, 0)) }
end:	do
	:: atomic { count[0] < MSGS -> send(0) }
	:: atomic { count[1] < MSGS && csend[1] != 0 -> send(1) }
	   /* An epoch of the braid is complete at the end whose key it was: end 0 for the
	      first, end 1 for the second, and not before each has heard the other in the
	      epoch before. The other goes over when it hears of it. */
	:: atomic { bsend[0] == 0 && bsend[1] == 0 && crecv[0] != 0 -> bsend[0] = 1; bprev[0] = bnum[0]; bnum[0] = 0 }
	:: atomic { bsend[1] == 1 && brecv[0] == 1 && brecv[1] == 1 -> bsend[1] = 2; bprev[1] = bnum[1]; bnum[1] = 0 }
	:: atomic {
		if :: x = 0 :: x = 1 fi;
		y = 1 - x;
		if
		:: count[y] > 0 ->
			select(j : 0 .. count[y] - 1);
			if :: good = 1 :: good = 0 fi;
			receive()
		:: else
		fi;
		x = 0; y = 0; j = 0; good = 0
	   }
	od
}
