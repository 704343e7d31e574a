/*
 * The braid (docs/spec/braid.md): two ends, one ML-KEM exchange after the
 * other, in chunks that ride in messages which may be lost, overtaken and
 * repeated. What is modelled and what is not: README.md beside this file.
 *
 *   spin -a braid.pml && cc -o pan pan.c && ./pan -a      progress (LTL below)
 *   spin -a -DSAFETY braid.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * With -DFAULT_n one rule is broken, and spin must object.
 */

#ifndef EPOCHS
#define EPOCHS 4 /* the run ends here: each end has had both roles twice */
#endif

/* Chunks of which any that many rebuild the whole: 3, 36, 30 and 5 of 32 bytes in
   truth. 2 is the least that tells "some" from "all". */
#define HDR 2
#define EK  2
#define CT1 2
#define CT2 2

/* Kinds of chunks in a message. */
#define kNone    0
#define kHdr     1
#define kEk      2
#define kEkAck   3 /* ek, and ct1 is whole */
#define kCt1Ack  4 /* ct1 is whole, nothing more of ek is needed */
#define kCt1     5
#define kCt2     6
#define KINDS    7

/* States. The first five belong to the end that sends its key, the others to
   the end that sends the ciphertext. */
#define KeysUnsampled        0
#define KeysSampled          1
#define HeaderSent           2
#define Ct1Received          3
#define EkSentCt1Received    4
#define NoHeaderReceived     5
#define HeaderReceived       6
#define Ct1Sampled           7
#define EkReceivedCt1Sampled 8
#define Ct1Acknowledged      9
#define Ct2Sampled          10

#define SENDS_KEY(s) (state[s] <= EkSentCt1Received)

byte state[2] = { KeysUnsampled, NoHeaderReceived };
byte epoch[2] = { 1, 1 }; /* the exchange that this end is in */
byte have[2];             /* epochs whose key this end has; 0 comes from the handshake */

byte got[2];  /* chunks of what this end is collecting: header, then ek | ct1, then ct2 */
bit  mixed[2];/* a chunk of another exchange is among them */

/* Who made the key pair, and for which exchange, as the ends' keys of an epoch
   remember it: 2 * exchange + end. The header names it to the other end. */
byte pair[2];
byte key0[EPOCHS + 2]; /* the key of each epoch at end 0, as the pair it was made to */
byte key1[EPOCHS + 2];

/* The sending chain of an epoch's key: whether its next number is above 0, and, as
   a witness that no code reads, whether any of its keys was used. */
bit number[2];
bit used[2];
byte chain[2]; /* epoch of the key that the last message went under */

/* Everything that was ever sent, of each exchange and kind: the network gives
   any of it to the other end at any time, any number of times, or never. Once
   something of a kind was sent, any number of different chunks of it may come:
   more than can be in truth, so nothing that can be is left out. */
bit sent[2 * (EPOCHS + 2) * KINDS];
#define SENT(s, e, k) sent[((s) * (EPOCHS + 2) + (e)) * KINDS + (k)]

bit fresh0, fresh1; /* what end 0, end 1 just sent has just come, whole and new */
byte s, o, e, k;
bit isnew;

#define DONE (epoch[0] > EPOCHS && epoch[1] > EPOCHS)

inline know(x, n, what) {
	/* Epochs' keys join the chain one by one, each once. */
	assert(n == have[x] + 1);
	have[x] = n;
	if
	:: x == 0 -> key0[n] = what
	:: else   -> key1[n] = what
	fi;
	assert(have[0] < n || have[1] < n || key0[n] == key1[n])
}

inline next(x, st) {
	epoch[x] = epoch[x] + 1;
	state[x] = st;
	got[x] = 0;
	mixed[x] = 0;
	pair[x] = 0
}

/* One message of end s: sets k, and takes a key of the chain. */
inline send() {
	o = 1 - s;
	/* Which key seals it: that of the exchange before this one, always. A message
	   names that, so e, the exchange that the other end takes it for, is one more. */
	e = epoch[s];
#ifdef FAULT_1 /* the ciphertext's end goes over to its new key at once */
	e = have[s] + 1;
#endif
	if
	:: e - 1 != chain[s] ->
		assert(e - 1 > chain[s]); /* a chain that was left is never gone back to */
		chain[s] = e - 1;
		number[s] = 0;
		used[s] = 0
	:: else
	fi;
	assert(number[s] == used[s]); /* no key twice */
#ifdef FAULT_2 /* the number begins anew when something else is sent */
	if
	:: state[s] == HeaderReceived -> number[s] = 0
	:: else -> number[s] = 1
	fi;
#else
	number[s] = 1;
#endif
	used[s] = 1;
	if
	:: state[s] == KeysUnsampled ->
		pair[s] = 2 * epoch[s] + s;
		state[s] = KeysSampled;
		k = kHdr
	:: state[s] == KeysSampled -> k = kHdr
	:: state[s] == HeaderSent ->
#ifdef FAULT_3 /* ct1 is said to be whole when it has begun to come */
		k = kEkAck
#else
		k = kEk
#endif
	:: state[s] == Ct1Received -> k = kEkAck
	:: state[s] == EkSentCt1Received -> k = kCt1Ack
	:: state[s] == NoHeaderReceived -> k = kNone
	:: state[s] == HeaderReceived ->
#ifdef FAULT_4 /* the key is counted as the next epoch's */
		know(s, epoch[s] + 1, pair[s]);
#else
		know(s, epoch[s], pair[s]);
#endif
		state[s] = Ct1Sampled;
		got[s] = 0;
		k = kCt1
	:: state[s] == Ct1Sampled || state[s] == EkReceivedCt1Sampled -> k = kCt1
	:: state[s] == Ct1Acknowledged -> k = kNone
	:: state[s] == Ct2Sampled -> k = kCt2
	fi;
	SENT(s, e, k) = 1
}

/* One chunk more, if it is not one that came before. */
inline collect() {
	if
	:: isnew && got[o] < 2 -> got[o] = got[o] + 1
	:: else
	fi;
	if
	:: e != epoch[o] -> mixed[o] = 1
	:: else
	fi
}

/* A message of end s, of exchange e and kind k, comes to the other end, o. */
inline receive() {
	/* A receiver never lacks the key of a message that is not too old. */
	assert(e - 1 <= have[o]);
	/* The ends are one exchange apart at most. */
	assert(e <= epoch[o] + 1);
	if
	:: e == epoch[o] + 1 ->
		/* It says that the other end has the key of this one. */
		assert(state[o] == Ct2Sampled);
		next(o, KeysUnsampled)
#ifdef FAULT_7 /* a late message moves the ciphertext's end on, too */
	:: e < epoch[o] && state[o] == Ct2Sampled -> next(o, KeysUnsampled)
#endif
	:: else
	fi;
	if
#ifdef FAULT_6 /* the exchange of a chunk is not looked at */
	:: true ->
#else
	:: e == epoch[o] ->
#endif
		if
		:: state[o] == KeysSampled && k == kCt1 ->
			/* the header is there */
			state[o] = HeaderSent;
			got[o] = 0
		:: state[o] == Ct1Received && k == kCt2 ->
			/* the key is there */
			state[o] = EkSentCt1Received;
			got[o] = 0
		:: else
		fi;
		if
		:: state[o] == HeaderSent && k == kCt1 ->
			collect();
			if
			:: got[o] == CT1 -> assert(!mixed[o]); state[o] = Ct1Received
			:: else
			fi
		:: state[o] == EkSentCt1Received && k == kCt2 ->
			collect();
			if
			:: got[o] == CT2 ->
				assert(!mixed[o]);
				know(o, epoch[o], pair[o]);
#ifdef FAULT_5 /* roles are not swapped */
				next(o, KeysUnsampled)
#else
				next(o, NoHeaderReceived)
#endif
			:: else
			fi
		:: state[o] == NoHeaderReceived && k == kHdr ->
			collect();
			if
			:: got[o] == HDR ->
				assert(!mixed[o]);
				pair[o] = 2 * e + s;
				got[o] = 0;
				state[o] = HeaderReceived
			:: else
			fi
		:: state[o] == Ct1Sampled && (k == kEk || k == kEkAck) ->
			collect();
			if
			:: got[o] == EK && k == kEkAck -> assert(!mixed[o]); state[o] = Ct2Sampled
			:: got[o] == EK && k == kEk    -> assert(!mixed[o]); state[o] = EkReceivedCt1Sampled
			:: got[o] < EK && k == kEkAck  -> state[o] = Ct1Acknowledged
			:: got[o] < EK && k == kEk
			fi
		:: state[o] == EkReceivedCt1Sampled && k == kEkAck ->
#ifdef FAULT_8 /* an end that has all of ek does not listen any more */
			skip
#else
			state[o] = Ct2Sampled
#endif
		:: state[o] == Ct1Acknowledged && (k == kEk || k == kEkAck) ->
			collect();
			if
			:: got[o] == EK -> assert(!mixed[o]); state[o] = Ct2Sampled
			:: else
			fi
		:: else
		fi
	:: else
	fi;
#ifdef FAULT_9 /* the ciphertext's end goes on by itself when ct2 is sent */
	if
	:: state[o] == Ct2Sampled && SENT(o, epoch[o], kCt2) -> next(o, KeysUnsampled)
	:: else
	fi;
#endif
	/* Two ends in one exchange have one role each. */
	assert(epoch[0] != epoch[1] || SENDS_KEY(0) != SENDS_KEY(1))
}

active proctype network() {
	do
	:: DONE -> break
	:: atomic { !DONE ->
		/* A message is sent, and what becomes of it is open. */
		fresh0 = 0; fresh1 = 0;
		if :: s = 0 :: s = 1 fi;
		send();
		s = 0; o = 0; e = 0; k = 0; isnew = 0
	   }
	:: atomic { !DONE ->
		/* A message is sent and comes at once, with a chunk that is new: all
		   that the proof of progress asks for, now and then. */
		fresh0 = 0; fresh1 = 0;
		if :: s = 0 :: s = 1 fi;
		send();
		isnew = 1;
		receive();
		if :: s == 0 -> fresh0 = 1 :: else -> fresh1 = 1 fi;
		s = 0; o = 0; e = 0; k = 0; isnew = 0
	   }
	:: atomic { !DONE ->
		/* Anything ever sent comes, whatever came before. */
		fresh0 = 0; fresh1 = 0;
		if :: s = 0 :: s = 1 fi;
		o = 1 - s;
		select(e : 1 .. EPOCHS + 1);
		select(k : 0 .. 6);
		if
		:: SENT(s, e, k) ->
			if :: isnew = 1 :: isnew = 0 fi;
			receive()
		:: else
		fi;
		s = 0; o = 0; e = 0; k = 0; isnew = 0
	   }
	od
}

#ifndef SAFETY
/* While messages keep coming in both directions, however many others are lost,
   late or repeated, the exchanges are completed. */
ltl progress { ([]<> fresh0 && []<> fresh1) -> <> DONE }
#endif
