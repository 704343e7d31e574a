#define rand	pan_rand
#define pthread_equal(a,b)	((a)==(b))
#if defined(HAS_CODE) && defined(VERBOSE)
	#ifdef BFS_PAR
		bfs_printf("Pr: %d Tr: %d\n", II, t->forw);
	#else
		cpu_printf("Pr: %d Tr: %d\n", II, t->forw);
	#endif
#endif
	switch (t->forw) {
	default: Uerror("bad forward move");
	case 0:	/* if without executable clauses */
		continue;
	case 1: /* generic 'goto' or 'skip' */
		IfNotBlocked
		_m = 3; goto P999;
	case 2: /* generic 'else' */
		IfNotBlocked
		if (trpt->o_pm&1) continue;
		_m = 3; goto P999;

		 /* CLAIM progress */
	case 3: // STATE 1 - _spin_nvr.tmp:3 - [(((!(((epoch[0]>4)&&(epoch[1]>4)))&&fresh0)&&fresh1))] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported1 = 0;
			if (verbose && !reported1)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported1 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported1 = 0;
			if (verbose && !reported1)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported1 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][1] = 1;
		if (!((( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))&&((int)now.fresh0))&&((int)now.fresh1))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 4: // STATE 3 - _spin_nvr.tmp:4 - [((!(((epoch[0]>4)&&(epoch[1]>4)))&&fresh0))] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported3 = 0;
			if (verbose && !reported3)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported3 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported3 = 0;
			if (verbose && !reported3)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported3 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][3] = 1;
		if (!(( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))&&((int)now.fresh0))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 5: // STATE 5 - _spin_nvr.tmp:5 - [(!(((epoch[0]>4)&&(epoch[1]>4))))] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported5 = 0;
			if (verbose && !reported5)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported5 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported5 = 0;
			if (verbose && !reported5)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported5 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][5] = 1;
		if (!( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 6: // STATE 10 - _spin_nvr.tmp:9 - [(!(((epoch[0]>4)&&(epoch[1]>4))))] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported10 = 0;
			if (verbose && !reported10)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported10 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported10 = 0;
			if (verbose && !reported10)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported10 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][10] = 1;
		if (!( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 7: // STATE 15 - _spin_nvr.tmp:13 - [((!(((epoch[0]>4)&&(epoch[1]>4)))&&fresh1))] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported15 = 0;
			if (verbose && !reported15)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported15 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported15 = 0;
			if (verbose && !reported15)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported15 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][15] = 1;
		if (!(( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))&&((int)now.fresh1))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 8: // STATE 17 - _spin_nvr.tmp:14 - [(!(((epoch[0]>4)&&(epoch[1]>4))))] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported17 = 0;
			if (verbose && !reported17)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported17 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported17 = 0;
			if (verbose && !reported17)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported17 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][17] = 1;
		if (!( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 9: // STATE 22 - _spin_nvr.tmp:16 - [-end-] (0:0:0 - 1)
		
#if defined(VERI) && !defined(NP)
#if NCLAIMS>1
		{	static int reported22 = 0;
			if (verbose && !reported22)
			{	int nn = (int) ((Pclaim *)pptr(0))->_n;
				printf("depth %ld: Claim %s (%d), state %d (line %d)\n",
					depth, procname[spin_c_typ[nn]], nn, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported22 = 1;
				fflush(stdout);
		}	}
#else
		{	static int reported22 = 0;
			if (verbose && !reported22)
			{	printf("depth %d: Claim, state %d (line %d)\n",
					(int) depth, (int) ((Pclaim *)pptr(0))->_p, src_claim[ (int) ((Pclaim *)pptr(0))->_p ]);
				reported22 = 1;
				fflush(stdout);
		}	}
#endif
#endif
		reached[1][22] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */

		 /* PROC network */
	case 10: // STATE 1 - braid.pml:276 - [(((epoch[0]>4)&&(epoch[1]>4)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][1] = 1;
		if (!(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 11: // STATE 3 - braid.pml:277 - [(!(((epoch[0]>4)&&(epoch[1]>4))))] (8:0:2 - 1)
		IfNotBlocked
		reached[0][3] = 1;
		if (!( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))))
			continue;
		/* merge: fresh0 = 0(8, 4, 8) */
		reached[0][4] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.fresh0);
		now.fresh0 = 0;
#ifdef VAR_RANGES
		logval("fresh0", ((int)now.fresh0));
#endif
		;
		/* merge: fresh1 = 0(8, 5, 8) */
		reached[0][5] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.fresh1);
		now.fresh1 = 0;
#ifdef VAR_RANGES
		logval("fresh1", ((int)now.fresh1));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 12: // STATE 6 - braid.pml:280 - [s = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[0][6] = 1;
		(trpt+1)->bup.oval = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 13: // STATE 7 - braid.pml:280 - [s = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][7] = 1;
		(trpt+1)->bup.oval = ((int)now.s);
		now.s = 1;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 14: // STATE 10 - braid.pml:282 - [((epoch[s]<=4))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][10] = 1;
		if (!((((int)now.epoch[ Index(((int)now.s), 2) ])<=4)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 15: // STATE 11 - braid.pml:101 - [o = (1-s)] (0:19:2 - 1)
		IfNotBlocked
		reached[0][11] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.o);
		now.o = (1-((int)now.s));
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = (epoch[s]-1)(19, 12, 19) */
		reached[0][12] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.e);
		now.e = (((int)now.epoch[ Index(((int)now.s), 2) ])-1);
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 16: // STATE 13 - braid.pml:108 - [((e!=chain[s]))] (58:0:5 - 1)
		IfNotBlocked
		reached[0][13] = 1;
		if (!((((int)now.e)!=((int)now.chain[ Index(((int)now.s), 2) ]))))
			continue;
		/* merge: assert((e>chain[s]))(58, 14, 58) */
		reached[0][14] = 1;
		spin_assert((((int)now.e)>((int)now.chain[ Index(((int)now.s), 2) ])), "(e>chain[s])", II, tt, t);
		/* merge: chain[s] = e(58, 15, 58) */
		reached[0][15] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.chain[ Index(((int)now.s), 2) ]);
		now.chain[ Index(now.s, 2) ] = ((int)now.e);
#ifdef VAR_RANGES
		logval("chain[s]", ((int)now.chain[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: number[s] = 0(58, 16, 58) */
		reached[0][16] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.number[ Index(((int)now.s), 2) ]);
		now.number[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("number[s]", ((int)now.number[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: used[s] = 0(58, 17, 58) */
		reached[0][17] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.used[ Index(((int)now.s), 2) ]);
		now.used[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("used[s]", ((int)now.used[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: .(goto)(58, 20, 58) */
		reached[0][20] = 1;
		;
		/* merge: assert((number[s]==used[s]))(58, 21, 58) */
		reached[0][21] = 1;
		spin_assert((((int)now.number[ Index(((int)now.s), 2) ])==((int)now.used[ Index(((int)now.s), 2) ])), "(number[s]==used[s])", II, tt, t);
		/* merge: number[s] = ( ((number[s]<2)) -> ((number[s]+1)) : (2) )(58, 22, 58) */
		reached[0][22] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.number[ Index(((int)now.s), 2) ]);
		now.number[ Index(now.s, 2) ] = ( ((((int)now.number[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.number[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("number[s]", ((int)now.number[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: used[s] = ( ((used[s]<2)) -> ((used[s]+1)) : (2) )(58, 23, 58) */
		reached[0][23] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.used[ Index(((int)now.s), 2) ]);
		now.used[ Index(now.s, 2) ] = ( ((((int)now.used[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.used[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("used[s]", ((int)now.used[ Index(((int)now.s), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 8 */
	case 17: // STATE 21 - braid.pml:115 - [assert((number[s]==used[s]))] (0:58:2 - 3)
		IfNotBlocked
		reached[0][21] = 1;
		spin_assert((((int)now.number[ Index(((int)now.s), 2) ])==((int)now.used[ Index(((int)now.s), 2) ])), "(number[s]==used[s])", II, tt, t);
		/* merge: number[s] = ( ((number[s]<2)) -> ((number[s]+1)) : (2) )(58, 22, 58) */
		reached[0][22] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.number[ Index(((int)now.s), 2) ]);
		now.number[ Index(now.s, 2) ] = ( ((((int)now.number[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.number[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("number[s]", ((int)now.number[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: used[s] = ( ((used[s]<2)) -> ((used[s]+1)) : (2) )(58, 23, 58) */
		reached[0][23] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.used[ Index(((int)now.s), 2) ]);
		now.used[ Index(now.s, 2) ] = ( ((((int)now.used[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.used[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("used[s]", ((int)now.used[ Index(((int)now.s), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 18: // STATE 24 - braid.pml:126 - [((state[s]==0))] (63:0:3 - 1)
		IfNotBlocked
		reached[0][24] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==0)))
			continue;
		/* merge: pair[s] = ((2*epoch[s])+s)(63, 25, 63) */
		reached[0][25] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)now.pair[ Index(((int)now.s), 2) ]);
		now.pair[ Index(now.s, 2) ] = ((2*((int)now.epoch[ Index(((int)now.s), 2) ]))+((int)now.s));
#ifdef VAR_RANGES
		logval("pair[s]", ((int)now.pair[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: state[s] = 1(63, 26, 63) */
		reached[0][26] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 1;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 1(63, 27, 63) */
		reached[0][27] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.k);
		now.k = 1;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 4 */
	case 19: // STATE 28 - braid.pml:130 - [((state[s]==1))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][28] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==1)))
			continue;
		/* merge: k = 1(0, 29, 63) */
		reached[0][29] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 1;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 20: // STATE 30 - braid.pml:131 - [((state[s]==2))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][30] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==2)))
			continue;
		/* merge: k = 2(0, 31, 63) */
		reached[0][31] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 2;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 21: // STATE 32 - braid.pml:137 - [((state[s]==3))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][32] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==3)))
			continue;
		/* merge: k = 3(0, 33, 63) */
		reached[0][33] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 3;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 22: // STATE 34 - braid.pml:138 - [((state[s]==4))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][34] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==4)))
			continue;
		/* merge: k = 4(0, 35, 63) */
		reached[0][35] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 4;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 23: // STATE 36 - braid.pml:139 - [((state[s]==5))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][36] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==5)))
			continue;
		/* merge: k = 0(0, 37, 63) */
		reached[0][37] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 24: // STATE 38 - braid.pml:140 - [((state[s]==6))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][38] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==6)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 25: // STATE 39 - braid.pml:82 - [assert((epoch[s]==(have[s]+1)))] (0:45:1 - 1)
		IfNotBlocked
		reached[0][39] = 1;
		spin_assert((((int)now.epoch[ Index(((int)now.s), 2) ])==(((int)now.have[ Index(((int)now.s), 2) ])+1)), "(epoch[s]==(have[s]+1))", II, tt, t);
		/* merge: have[s] = epoch[s](45, 40, 45) */
		reached[0][40] = 1;
		(trpt+1)->bup.oval = ((int)now.have[ Index(((int)now.s), 2) ]);
		now.have[ Index(now.s, 2) ] = ((int)now.epoch[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("have[s]", ((int)now.have[ Index(((int)now.s), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 26: // STATE 41 - braid.pml:85 - [((s==0))] (63:0:4 - 1)
		IfNotBlocked
		reached[0][41] = 1;
		if (!((((int)now.s)==0)))
			continue;
		/* merge: key0[epoch[s]] = pair[s](63, 42, 63) */
		reached[0][42] = 1;
		(trpt+1)->bup.ovals = grab_ints(4);
		(trpt+1)->bup.ovals[0] = ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]);
		now.key0[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("key0[epoch[s]]", ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(63, 46, 63) */
		reached[0][46] = 1;
		;
		/* merge: assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))(63, 47, 63) */
		reached[0][47] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.s), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.s), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]))), "(((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]]))", II, tt, t);
		/* merge: state[s] = 7(63, 49, 63) */
		reached[0][49] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 7;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: got[s] = 0(63, 50, 63) */
		reached[0][50] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.s), 2) ]);
		now.got[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[s]", ((int)now.got[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 5(63, 51, 63) */
		reached[0][51] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 27: // STATE 44 - braid.pml:86 - [key1[epoch[s]] = pair[s]] (0:63:4 - 1)
		IfNotBlocked
		reached[0][44] = 1;
		(trpt+1)->bup.ovals = grab_ints(4);
		(trpt+1)->bup.ovals[0] = ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]);
		now.key1[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("key1[epoch[s]]", ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(63, 46, 63) */
		reached[0][46] = 1;
		;
		/* merge: assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))(63, 47, 63) */
		reached[0][47] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.s), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.s), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]))), "(((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]]))", II, tt, t);
		/* merge: state[s] = 7(63, 49, 63) */
		reached[0][49] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 7;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: got[s] = 0(63, 50, 63) */
		reached[0][50] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.s), 2) ]);
		now.got[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[s]", ((int)now.got[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 5(63, 51, 63) */
		reached[0][51] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 6 */
	case 28: // STATE 47 - braid.pml:88 - [assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))] (0:63:3 - 3)
		IfNotBlocked
		reached[0][47] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.s), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.s), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]))), "(((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]]))", II, tt, t);
		/* merge: state[s] = 7(63, 49, 63) */
		reached[0][49] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 7;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: got[s] = 0(63, 50, 63) */
		reached[0][50] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.s), 2) ]);
		now.got[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[s]", ((int)now.got[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 5(63, 51, 63) */
		reached[0][51] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 4 */
	case 29: // STATE 52 - braid.pml:149 - [(((state[s]==7)||(state[s]==8)))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][52] = 1;
		if (!(((((int)now.state[ Index(((int)now.s), 2) ])==7)||(((int)now.state[ Index(((int)now.s), 2) ])==8))))
			continue;
		/* merge: k = 5(0, 53, 63) */
		reached[0][53] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 30: // STATE 54 - braid.pml:150 - [((state[s]==9))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][54] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==9)))
			continue;
		/* merge: k = 0(0, 55, 63) */
		reached[0][55] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 31: // STATE 56 - braid.pml:151 - [((state[s]==10))] (63:0:1 - 1)
		IfNotBlocked
		reached[0][56] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==10)))
			continue;
		/* merge: k = 6(0, 57, 63) */
		reached[0][57] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 6;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 59, 63) */
		reached[0][59] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 32: // STATE 60 - braid.pml:154 - [((sent[((((s*(4+2))+epoch[s])*7)+k)]<2))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][60] = 1;
		if (!((((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ])<2)))
			continue;
		/* merge: sent[((((s*(4+2))+epoch[s])*7)+k)] = (sent[((((s*(4+2))+epoch[s])*7)+k)]+1)(529, 61, 529) */
		reached[0][61] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ]);
		now.sent[ Index(((((now.s*(4+2))+now.epoch[ Index(now.s, 2) ])*7)+now.k), 84) ] = (((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ])+1);
#ifdef VAR_RANGES
		logval("sent[((((s*(4+2))+epoch[s])*7)+k)]", ((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ]));
#endif
		;
		/* merge: .(goto)(529, 64, 529) */
		reached[0][64] = 1;
		;
		/* merge: .(goto)(529, 68, 529) */
		reached[0][68] = 1;
		;
		/* merge: s = 0(529, 69, 529) */
		reached[0][69] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 70, 529) */
		reached[0][70] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 71, 529) */
		reached[0][71] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 72, 529) */
		reached[0][72] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 73, 529) */
		reached[0][73] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 9 */
	case 33: // STATE 69 - braid.pml:285 - [s = 0] (0:529:5 - 5)
		IfNotBlocked
		reached[0][69] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 70, 529) */
		reached[0][70] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 71, 529) */
		reached[0][71] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 72, 529) */
		reached[0][72] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 73, 529) */
		reached[0][73] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 34: // STATE 75 - braid.pml:287 - [(!(((epoch[0]>4)&&(epoch[1]>4))))] (80:0:2 - 1)
		IfNotBlocked
		reached[0][75] = 1;
		if (!( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))))
			continue;
		/* merge: fresh0 = 0(80, 76, 80) */
		reached[0][76] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.fresh0);
		now.fresh0 = 0;
#ifdef VAR_RANGES
		logval("fresh0", ((int)now.fresh0));
#endif
		;
		/* merge: fresh1 = 0(80, 77, 80) */
		reached[0][77] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.fresh1);
		now.fresh1 = 0;
#ifdef VAR_RANGES
		logval("fresh1", ((int)now.fresh1));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 35: // STATE 78 - braid.pml:291 - [s = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[0][78] = 1;
		(trpt+1)->bup.oval = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 36: // STATE 79 - braid.pml:291 - [s = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][79] = 1;
		(trpt+1)->bup.oval = ((int)now.s);
		now.s = 1;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 37: // STATE 82 - braid.pml:293 - [((epoch[s]<=4))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][82] = 1;
		if (!((((int)now.epoch[ Index(((int)now.s), 2) ])<=4)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 38: // STATE 83 - braid.pml:101 - [o = (1-s)] (0:91:2 - 1)
		IfNotBlocked
		reached[0][83] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.o);
		now.o = (1-((int)now.s));
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = (epoch[s]-1)(91, 84, 91) */
		reached[0][84] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.e);
		now.e = (((int)now.epoch[ Index(((int)now.s), 2) ])-1);
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 39: // STATE 85 - braid.pml:108 - [((e!=chain[s]))] (130:0:5 - 1)
		IfNotBlocked
		reached[0][85] = 1;
		if (!((((int)now.e)!=((int)now.chain[ Index(((int)now.s), 2) ]))))
			continue;
		/* merge: assert((e>chain[s]))(130, 86, 130) */
		reached[0][86] = 1;
		spin_assert((((int)now.e)>((int)now.chain[ Index(((int)now.s), 2) ])), "(e>chain[s])", II, tt, t);
		/* merge: chain[s] = e(130, 87, 130) */
		reached[0][87] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.chain[ Index(((int)now.s), 2) ]);
		now.chain[ Index(now.s, 2) ] = ((int)now.e);
#ifdef VAR_RANGES
		logval("chain[s]", ((int)now.chain[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: number[s] = 0(130, 88, 130) */
		reached[0][88] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.number[ Index(((int)now.s), 2) ]);
		now.number[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("number[s]", ((int)now.number[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: used[s] = 0(130, 89, 130) */
		reached[0][89] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.used[ Index(((int)now.s), 2) ]);
		now.used[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("used[s]", ((int)now.used[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: .(goto)(130, 92, 130) */
		reached[0][92] = 1;
		;
		/* merge: assert((number[s]==used[s]))(130, 93, 130) */
		reached[0][93] = 1;
		spin_assert((((int)now.number[ Index(((int)now.s), 2) ])==((int)now.used[ Index(((int)now.s), 2) ])), "(number[s]==used[s])", II, tt, t);
		/* merge: number[s] = ( ((number[s]<2)) -> ((number[s]+1)) : (2) )(130, 94, 130) */
		reached[0][94] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.number[ Index(((int)now.s), 2) ]);
		now.number[ Index(now.s, 2) ] = ( ((((int)now.number[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.number[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("number[s]", ((int)now.number[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: used[s] = ( ((used[s]<2)) -> ((used[s]+1)) : (2) )(130, 95, 130) */
		reached[0][95] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.used[ Index(((int)now.s), 2) ]);
		now.used[ Index(now.s, 2) ] = ( ((((int)now.used[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.used[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("used[s]", ((int)now.used[ Index(((int)now.s), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 8 */
	case 40: // STATE 93 - braid.pml:115 - [assert((number[s]==used[s]))] (0:130:2 - 3)
		IfNotBlocked
		reached[0][93] = 1;
		spin_assert((((int)now.number[ Index(((int)now.s), 2) ])==((int)now.used[ Index(((int)now.s), 2) ])), "(number[s]==used[s])", II, tt, t);
		/* merge: number[s] = ( ((number[s]<2)) -> ((number[s]+1)) : (2) )(130, 94, 130) */
		reached[0][94] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.number[ Index(((int)now.s), 2) ]);
		now.number[ Index(now.s, 2) ] = ( ((((int)now.number[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.number[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("number[s]", ((int)now.number[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: used[s] = ( ((used[s]<2)) -> ((used[s]+1)) : (2) )(130, 95, 130) */
		reached[0][95] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.used[ Index(((int)now.s), 2) ]);
		now.used[ Index(now.s, 2) ] = ( ((((int)now.used[ Index(((int)now.s), 2) ])<2)) ? ((((int)now.used[ Index(((int)now.s), 2) ])+1)) : (2) );
#ifdef VAR_RANGES
		logval("used[s]", ((int)now.used[ Index(((int)now.s), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 41: // STATE 96 - braid.pml:126 - [((state[s]==0))] (135:0:3 - 1)
		IfNotBlocked
		reached[0][96] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==0)))
			continue;
		/* merge: pair[s] = ((2*epoch[s])+s)(135, 97, 135) */
		reached[0][97] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)now.pair[ Index(((int)now.s), 2) ]);
		now.pair[ Index(now.s, 2) ] = ((2*((int)now.epoch[ Index(((int)now.s), 2) ]))+((int)now.s));
#ifdef VAR_RANGES
		logval("pair[s]", ((int)now.pair[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: state[s] = 1(135, 98, 135) */
		reached[0][98] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 1;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 1(135, 99, 135) */
		reached[0][99] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.k);
		now.k = 1;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 4 */
	case 42: // STATE 100 - braid.pml:130 - [((state[s]==1))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][100] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==1)))
			continue;
		/* merge: k = 1(0, 101, 135) */
		reached[0][101] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 1;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 43: // STATE 102 - braid.pml:131 - [((state[s]==2))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][102] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==2)))
			continue;
		/* merge: k = 2(0, 103, 135) */
		reached[0][103] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 2;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 44: // STATE 104 - braid.pml:137 - [((state[s]==3))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][104] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==3)))
			continue;
		/* merge: k = 3(0, 105, 135) */
		reached[0][105] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 3;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 45: // STATE 106 - braid.pml:138 - [((state[s]==4))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][106] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==4)))
			continue;
		/* merge: k = 4(0, 107, 135) */
		reached[0][107] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 4;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 46: // STATE 108 - braid.pml:139 - [((state[s]==5))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][108] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==5)))
			continue;
		/* merge: k = 0(0, 109, 135) */
		reached[0][109] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 47: // STATE 110 - braid.pml:140 - [((state[s]==6))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][110] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==6)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 48: // STATE 111 - braid.pml:82 - [assert((epoch[s]==(have[s]+1)))] (0:117:1 - 1)
		IfNotBlocked
		reached[0][111] = 1;
		spin_assert((((int)now.epoch[ Index(((int)now.s), 2) ])==(((int)now.have[ Index(((int)now.s), 2) ])+1)), "(epoch[s]==(have[s]+1))", II, tt, t);
		/* merge: have[s] = epoch[s](117, 112, 117) */
		reached[0][112] = 1;
		(trpt+1)->bup.oval = ((int)now.have[ Index(((int)now.s), 2) ]);
		now.have[ Index(now.s, 2) ] = ((int)now.epoch[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("have[s]", ((int)now.have[ Index(((int)now.s), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 49: // STATE 113 - braid.pml:85 - [((s==0))] (135:0:4 - 1)
		IfNotBlocked
		reached[0][113] = 1;
		if (!((((int)now.s)==0)))
			continue;
		/* merge: key0[epoch[s]] = pair[s](135, 114, 135) */
		reached[0][114] = 1;
		(trpt+1)->bup.ovals = grab_ints(4);
		(trpt+1)->bup.ovals[0] = ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]);
		now.key0[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("key0[epoch[s]]", ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(135, 118, 135) */
		reached[0][118] = 1;
		;
		/* merge: assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))(135, 119, 135) */
		reached[0][119] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.s), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.s), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]))), "(((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]]))", II, tt, t);
		/* merge: state[s] = 7(135, 121, 135) */
		reached[0][121] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 7;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: got[s] = 0(135, 122, 135) */
		reached[0][122] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.s), 2) ]);
		now.got[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[s]", ((int)now.got[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 5(135, 123, 135) */
		reached[0][123] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 50: // STATE 116 - braid.pml:86 - [key1[epoch[s]] = pair[s]] (0:135:4 - 1)
		IfNotBlocked
		reached[0][116] = 1;
		(trpt+1)->bup.ovals = grab_ints(4);
		(trpt+1)->bup.ovals[0] = ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]);
		now.key1[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("key1[epoch[s]]", ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(135, 118, 135) */
		reached[0][118] = 1;
		;
		/* merge: assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))(135, 119, 135) */
		reached[0][119] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.s), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.s), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]))), "(((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]]))", II, tt, t);
		/* merge: state[s] = 7(135, 121, 135) */
		reached[0][121] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 7;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: got[s] = 0(135, 122, 135) */
		reached[0][122] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.s), 2) ]);
		now.got[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[s]", ((int)now.got[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 5(135, 123, 135) */
		reached[0][123] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 6 */
	case 51: // STATE 119 - braid.pml:88 - [assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))] (0:135:3 - 3)
		IfNotBlocked
		reached[0][119] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.s), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.s), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.s), 2) ]), 5) ]))), "(((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]]))", II, tt, t);
		/* merge: state[s] = 7(135, 121, 135) */
		reached[0][121] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.s), 2) ]);
		now.state[ Index(now.s, 2) ] = 7;
#ifdef VAR_RANGES
		logval("state[s]", ((int)now.state[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: got[s] = 0(135, 122, 135) */
		reached[0][122] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.s), 2) ]);
		now.got[ Index(now.s, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[s]", ((int)now.got[ Index(((int)now.s), 2) ]));
#endif
		;
		/* merge: k = 5(135, 123, 135) */
		reached[0][123] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 4 */
	case 52: // STATE 124 - braid.pml:149 - [(((state[s]==7)||(state[s]==8)))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][124] = 1;
		if (!(((((int)now.state[ Index(((int)now.s), 2) ])==7)||(((int)now.state[ Index(((int)now.s), 2) ])==8))))
			continue;
		/* merge: k = 5(0, 125, 135) */
		reached[0][125] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 53: // STATE 126 - braid.pml:150 - [((state[s]==9))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][126] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==9)))
			continue;
		/* merge: k = 0(0, 127, 135) */
		reached[0][127] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 54: // STATE 128 - braid.pml:151 - [((state[s]==10))] (135:0:1 - 1)
		IfNotBlocked
		reached[0][128] = 1;
		if (!((((int)now.state[ Index(((int)now.s), 2) ])==10)))
			continue;
		/* merge: k = 6(0, 129, 135) */
		reached[0][129] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 6;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: .(goto)(0, 131, 135) */
		reached[0][131] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 55: // STATE 132 - braid.pml:154 - [((sent[((((s*(4+2))+epoch[s])*7)+k)]<2))] (307:0:3 - 1)
		IfNotBlocked
		reached[0][132] = 1;
		if (!((((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ])<2)))
			continue;
		/* merge: sent[((((s*(4+2))+epoch[s])*7)+k)] = (sent[((((s*(4+2))+epoch[s])*7)+k)]+1)(307, 133, 307) */
		reached[0][133] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ]);
		now.sent[ Index(((((now.s*(4+2))+now.epoch[ Index(now.s, 2) ])*7)+now.k), 84) ] = (((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ])+1);
#ifdef VAR_RANGES
		logval("sent[((((s*(4+2))+epoch[s])*7)+k)]", ((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.epoch[ Index(((int)now.s), 2) ]))*7)+((int)now.k)), 84) ]));
#endif
		;
		/* merge: .(goto)(307, 136, 307) */
		reached[0][136] = 1;
		;
		/* merge: e = epoch[s](307, 138, 307) */
		reached[0][138] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.e);
		now.e = ((int)now.epoch[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: isnew = 1(307, 139, 307) */
		reached[0][139] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.isnew);
		now.isnew = 1;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		_m = 3; goto P999; /* 4 */
	case 56: // STATE 138 - braid.pml:295 - [e = epoch[s]] (0:307:2 - 3)
		IfNotBlocked
		reached[0][138] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.e);
		now.e = ((int)now.epoch[ Index(((int)now.s), 2) ]);
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: isnew = 1(307, 139, 307) */
		reached[0][139] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.isnew);
		now.isnew = 1;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 57: // STATE 140 - braid.pml:174 - [assert(((e-1)<=have[o]))] (0:151:0 - 1)
		IfNotBlocked
		reached[0][140] = 1;
		spin_assert(((((int)now.e)-1)<=((int)now.have[ Index(((int)now.o), 2) ])), "((e-1)<=have[o])", II, tt, t);
		/* merge: assert((e<=(epoch[o]+1)))(151, 141, 151) */
		reached[0][141] = 1;
		spin_assert((((int)now.e)<=(((int)now.epoch[ Index(((int)now.o), 2) ])+1)), "(e<=(epoch[o]+1))", II, tt, t);
		_m = 3; goto P999; /* 1 */
	case 58: // STATE 142 - braid.pml:178 - [((e==(epoch[o]+1)))] (149:0:0 - 1)
		IfNotBlocked
		reached[0][142] = 1;
		if (!((((int)now.e)==(((int)now.epoch[ Index(((int)now.o), 2) ])+1))))
			continue;
		/* merge: assert((state[o]==10))(0, 143, 149) */
		reached[0][143] = 1;
		spin_assert((((int)now.state[ Index(((int)now.o), 2) ])==10), "(state[o]==10)", II, tt, t);
		_m = 3; goto P999; /* 1 */
	case 59: // STATE 144 - braid.pml:92 - [epoch[o] = (epoch[o]+1)] (0:304:5 - 1)
		IfNotBlocked
		reached[0][144] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.epoch[ Index(((int)now.o), 2) ]);
		now.epoch[ Index(now.o, 2) ] = (((int)now.epoch[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("epoch[o]", ((int)now.epoch[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: state[o] = 0(304, 145, 304) */
		reached[0][145] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(304, 146, 304) */
		reached[0][146] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: mixed[o] = 0(304, 147, 304) */
		reached[0][147] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: pair[o] = 0(304, 148, 304) */
		reached[0][148] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.pair[ Index(((int)now.o), 2) ]);
		now.pair[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("pair[o]", ((int)now.pair[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 152, 304) */
		reached[0][152] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 60: // STATE 153 - braid.pml:192 - [((e==epoch[o]))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][153] = 1;
		if (!((((int)now.e)==((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 61: // STATE 154 - braid.pml:195 - [(((state[o]==1)&&(k==5)))] (167:0:2 - 1)
		IfNotBlocked
		reached[0][154] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==1)&&(((int)now.k)==5))))
			continue;
		/* merge: state[o] = 2(167, 155, 167) */
		reached[0][155] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 2;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(167, 156, 167) */
		reached[0][156] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 62: // STATE 157 - braid.pml:162 - [((isnew&&(got[o]<2)))] (165:0:1 - 1)
		IfNotBlocked
		reached[0][157] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 158, 165) */
		reached[0][158] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 161, 165) */
		reached[0][161] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 63: // STATE 162 - braid.pml:166 - [((e!=epoch[o]))] (301:0:2 - 1)
		IfNotBlocked
		reached[0][162] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(301, 163, 301) */
		reached[0][163] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(301, 166, 301) */
		reached[0][166] = 1;
		;
		/* merge: isnew = 0(301, 168, 301) */
		reached[0][168] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 171, 301) */
		reached[0][171] = 1;
		;
		_m = 3; goto P999; /* 4 */
	case 64: // STATE 168 - braid.pml:199 - [isnew = 0] (0:301:1 - 3)
		IfNotBlocked
		reached[0][168] = 1;
		(trpt+1)->bup.oval = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 171, 301) */
		reached[0][171] = 1;
		;
		_m = 3; goto P999; /* 1 */
	case 65: // STATE 172 - braid.pml:203 - [(((state[o]==2)&&(k==5)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][172] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==2)&&(((int)now.k)==5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 66: // STATE 173 - braid.pml:162 - [((isnew&&(got[o]<2)))] (181:0:1 - 1)
		IfNotBlocked
		reached[0][173] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 174, 181) */
		reached[0][174] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 177, 181) */
		reached[0][177] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 67: // STATE 178 - braid.pml:166 - [((e!=epoch[o]))] (188:0:1 - 1)
		IfNotBlocked
		reached[0][178] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 179, 188) */
		reached[0][179] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 182, 188) */
		reached[0][182] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 68: // STATE 184 - braid.pml:206 - [((got[o]==2))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][184] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(315, 185, 315) */
		reached[0][185] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 3(315, 186, 315) */
		reached[0][186] = 1;
		(trpt+1)->bup.oval = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 3;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 189, 315) */
		reached[0][189] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 69: // STATE 190 - braid.pml:209 - [(((state[o]==3)&&(k==6)))] (203:0:2 - 1)
		IfNotBlocked
		reached[0][190] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==3)&&(((int)now.k)==6))))
			continue;
		/* merge: state[o] = 4(203, 191, 203) */
		reached[0][191] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 4;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(203, 192, 203) */
		reached[0][192] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 70: // STATE 193 - braid.pml:162 - [((isnew&&(got[o]<2)))] (201:0:1 - 1)
		IfNotBlocked
		reached[0][193] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 194, 201) */
		reached[0][194] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 197, 201) */
		reached[0][197] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 71: // STATE 198 - braid.pml:166 - [((e!=epoch[o]))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][198] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(315, 199, 315) */
		reached[0][199] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 202, 315) */
		reached[0][202] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 6 */
	case 72: // STATE 204 - braid.pml:213 - [(((state[o]==4)&&(k==6)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][204] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==4)&&(((int)now.k)==6))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 73: // STATE 205 - braid.pml:162 - [((isnew&&(got[o]<2)))] (213:0:1 - 1)
		IfNotBlocked
		reached[0][205] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 206, 213) */
		reached[0][206] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 209, 213) */
		reached[0][209] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 74: // STATE 210 - braid.pml:166 - [((e!=epoch[o]))] (235:0:1 - 1)
		IfNotBlocked
		reached[0][210] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 211, 235) */
		reached[0][211] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 214, 235) */
		reached[0][214] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 75: // STATE 216 - braid.pml:216 - [((got[o]==2))] (227:0:0 - 1)
		IfNotBlocked
		reached[0][216] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(0, 217, 227) */
		reached[0][217] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		_m = 3; goto P999; /* 1 */
	case 76: // STATE 218 - braid.pml:82 - [assert((epoch[o]==(have[o]+1)))] (0:224:1 - 1)
		IfNotBlocked
		reached[0][218] = 1;
		spin_assert((((int)now.epoch[ Index(((int)now.o), 2) ])==(((int)now.have[ Index(((int)now.o), 2) ])+1)), "(epoch[o]==(have[o]+1))", II, tt, t);
		/* merge: have[o] = epoch[o](224, 219, 224) */
		reached[0][219] = 1;
		(trpt+1)->bup.oval = ((int)now.have[ Index(((int)now.o), 2) ]);
		now.have[ Index(now.o, 2) ] = ((int)now.epoch[ Index(((int)now.o), 2) ]);
#ifdef VAR_RANGES
		logval("have[o]", ((int)now.have[ Index(((int)now.o), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 77: // STATE 220 - braid.pml:85 - [((o==0))] (233:0:1 - 1)
		IfNotBlocked
		reached[0][220] = 1;
		if (!((((int)now.o)==0)))
			continue;
		/* merge: key0[epoch[o]] = pair[o](233, 221, 233) */
		reached[0][221] = 1;
		(trpt+1)->bup.oval = ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]);
		now.key0[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.o), 2) ]);
#ifdef VAR_RANGES
		logval("key0[epoch[o]]", ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(233, 225, 233) */
		reached[0][225] = 1;
		;
		/* merge: assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))(233, 226, 233) */
		reached[0][226] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.o), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.o), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]))), "(((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]]))", II, tt, t);
		_m = 3; goto P999; /* 3 */
	case 78: // STATE 223 - braid.pml:86 - [key1[epoch[o]] = pair[o]] (0:233:1 - 1)
		IfNotBlocked
		reached[0][223] = 1;
		(trpt+1)->bup.oval = ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]);
		now.key1[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.o), 2) ]);
#ifdef VAR_RANGES
		logval("key1[epoch[o]]", ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(233, 225, 233) */
		reached[0][225] = 1;
		;
		/* merge: assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))(233, 226, 233) */
		reached[0][226] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.o), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.o), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]))), "(((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]]))", II, tt, t);
		_m = 3; goto P999; /* 2 */
	case 79: // STATE 226 - braid.pml:88 - [assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))] (0:233:0 - 3)
		IfNotBlocked
		reached[0][226] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.o), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.o), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]))), "(((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]]))", II, tt, t);
		_m = 3; goto P999; /* 0 */
	case 80: // STATE 228 - braid.pml:92 - [epoch[o] = (epoch[o]+1)] (0:315:5 - 1)
		IfNotBlocked
		reached[0][228] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.epoch[ Index(((int)now.o), 2) ]);
		now.epoch[ Index(now.o, 2) ] = (((int)now.epoch[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("epoch[o]", ((int)now.epoch[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: state[o] = 5(315, 229, 315) */
		reached[0][229] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 5;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(315, 230, 315) */
		reached[0][230] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: mixed[o] = 0(315, 231, 315) */
		reached[0][231] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: pair[o] = 0(315, 232, 315) */
		reached[0][232] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.pair[ Index(((int)now.o), 2) ]);
		now.pair[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("pair[o]", ((int)now.pair[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 236, 315) */
		reached[0][236] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 9 */
	case 81: // STATE 237 - braid.pml:226 - [(((state[o]==5)&&(k==1)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][237] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==5)&&(((int)now.k)==1))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 82: // STATE 238 - braid.pml:162 - [((isnew&&(got[o]<2)))] (246:0:1 - 1)
		IfNotBlocked
		reached[0][238] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 239, 246) */
		reached[0][239] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 242, 246) */
		reached[0][242] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 83: // STATE 243 - braid.pml:166 - [((e!=epoch[o]))] (255:0:1 - 1)
		IfNotBlocked
		reached[0][243] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 244, 255) */
		reached[0][244] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 247, 255) */
		reached[0][247] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 84: // STATE 249 - braid.pml:229 - [((got[o]==2))] (315:0:3 - 1)
		IfNotBlocked
		reached[0][249] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(315, 250, 315) */
		reached[0][250] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: pair[o] = ((2*e)+s)(315, 251, 315) */
		reached[0][251] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)now.pair[ Index(((int)now.o), 2) ]);
		now.pair[ Index(now.o, 2) ] = ((2*((int)now.e))+((int)now.s));
#ifdef VAR_RANGES
		logval("pair[o]", ((int)now.pair[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(315, 252, 315) */
		reached[0][252] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: state[o] = 6(315, 253, 315) */
		reached[0][253] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 6;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 256, 315) */
		reached[0][256] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 9 */
	case 85: // STATE 257 - braid.pml:236 - [(((state[o]==7)&&((k==2)||(k==3))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][257] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==7)&&((((int)now.k)==2)||(((int)now.k)==3)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 86: // STATE 258 - braid.pml:162 - [((isnew&&(got[o]<2)))] (266:0:1 - 1)
		IfNotBlocked
		reached[0][258] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 259, 266) */
		reached[0][259] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 262, 266) */
		reached[0][262] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 87: // STATE 263 - braid.pml:166 - [((e!=epoch[o]))] (278:0:1 - 1)
		IfNotBlocked
		reached[0][263] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 264, 278) */
		reached[0][264] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 267, 278) */
		reached[0][267] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 88: // STATE 269 - braid.pml:239 - [(((got[o]==2)&&(k==3)))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][269] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])==2)&&(((int)now.k)==3))))
			continue;
		/* merge: assert(!(mixed[o]))(315, 270, 315) */
		reached[0][270] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 10(315, 271, 315) */
		reached[0][271] = 1;
		(trpt+1)->bup.oval = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 10;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 279, 315) */
		reached[0][279] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 89: // STATE 272 - braid.pml:240 - [(((got[o]==2)&&(k==2)))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][272] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])==2)&&(((int)now.k)==2))))
			continue;
		/* merge: assert(!(mixed[o]))(315, 273, 315) */
		reached[0][273] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 8(315, 274, 315) */
		reached[0][274] = 1;
		(trpt+1)->bup.oval = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 8;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 279, 315) */
		reached[0][279] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 90: // STATE 275 - braid.pml:244 - [(((got[o]<2)&&(k==3)))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][275] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])<2)&&(((int)now.k)==3))))
			continue;
		/* merge: state[o] = 9(315, 276, 315) */
		reached[0][276] = 1;
		(trpt+1)->bup.oval = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 9;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 279, 315) */
		reached[0][279] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 6 */
	case 91: // STATE 277 - braid.pml:245 - [(((got[o]<2)&&(k==2)))] (315:0:0 - 1)
		IfNotBlocked
		reached[0][277] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])<2)&&(((int)now.k)==2))))
			continue;
		/* merge: .(goto)(315, 279, 315) */
		reached[0][279] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 92: // STATE 280 - braid.pml:248 - [(((state[o]==8)&&((k==3)||(k==4))))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][280] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==8)&&((((int)now.k)==3)||(((int)now.k)==4)))))
			continue;
		/* merge: state[o] = 10(315, 281, 315) */
		reached[0][281] = 1;
		(trpt+1)->bup.oval = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 10;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 93: // STATE 282 - braid.pml:254 - [(((state[o]==9)&&((k==2)||(k==3))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][282] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==9)&&((((int)now.k)==2)||(((int)now.k)==3)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 94: // STATE 283 - braid.pml:162 - [((isnew&&(got[o]<2)))] (291:0:1 - 1)
		IfNotBlocked
		reached[0][283] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 284, 291) */
		reached[0][284] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 287, 291) */
		reached[0][287] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 95: // STATE 288 - braid.pml:166 - [((e!=epoch[o]))] (298:0:1 - 1)
		IfNotBlocked
		reached[0][288] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 289, 298) */
		reached[0][289] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 292, 298) */
		reached[0][292] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 96: // STATE 294 - braid.pml:257 - [((got[o]==2))] (315:0:1 - 1)
		IfNotBlocked
		reached[0][294] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(315, 295, 315) */
		reached[0][295] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 10(315, 296, 315) */
		reached[0][296] = 1;
		(trpt+1)->bup.oval = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 10;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(315, 299, 315) */
		reached[0][299] = 1;
		;
		/* merge: .(goto)(315, 302, 315) */
		reached[0][302] = 1;
		;
		/* merge: .(goto)(315, 305, 315) */
		reached[0][305] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(315, 306, 315) */
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 97: // STATE 306 - braid.pml:271 - [assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))] (0:315:0 - 25)
		IfNotBlocked
		reached[0][306] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(0, 310, 315) */
		reached[0][310] = 1;
		;
		_m = 3; goto P999; /* 1 */
	case 98: // STATE 311 - braid.pml:299 - [((s==0))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][311] = 1;
		if (!((((int)now.s)==0)))
			continue;
		/* merge: fresh0 = 1(529, 312, 529) */
		reached[0][312] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.fresh0);
		now.fresh0 = 1;
#ifdef VAR_RANGES
		logval("fresh0", ((int)now.fresh0));
#endif
		;
		/* merge: .(goto)(529, 316, 529) */
		reached[0][316] = 1;
		;
		/* merge: s = 0(529, 317, 529) */
		reached[0][317] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 318, 529) */
		reached[0][318] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 319, 529) */
		reached[0][319] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 320, 529) */
		reached[0][320] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 321, 529) */
		reached[0][321] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 8 */
	case 99: // STATE 314 - braid.pml:299 - [fresh1 = 1] (0:529:6 - 1)
		IfNotBlocked
		reached[0][314] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.fresh1);
		now.fresh1 = 1;
#ifdef VAR_RANGES
		logval("fresh1", ((int)now.fresh1));
#endif
		;
		/* merge: .(goto)(529, 316, 529) */
		reached[0][316] = 1;
		;
		/* merge: s = 0(529, 317, 529) */
		reached[0][317] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 318, 529) */
		reached[0][318] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 319, 529) */
		reached[0][319] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 320, 529) */
		reached[0][320] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 321, 529) */
		reached[0][321] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 100: // STATE 317 - braid.pml:300 - [s = 0] (0:529:5 - 3)
		IfNotBlocked
		reached[0][317] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 318, 529) */
		reached[0][318] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 319, 529) */
		reached[0][319] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 320, 529) */
		reached[0][320] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 321, 529) */
		reached[0][321] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 101: // STATE 323 - braid.pml:302 - [(!(((epoch[0]>4)&&(epoch[1]>4))))] (328:0:2 - 1)
		IfNotBlocked
		reached[0][323] = 1;
		if (!( !(((((int)now.epoch[0])>4)&&(((int)now.epoch[1])>4)))))
			continue;
		/* merge: fresh0 = 0(328, 324, 328) */
		reached[0][324] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.fresh0);
		now.fresh0 = 0;
#ifdef VAR_RANGES
		logval("fresh0", ((int)now.fresh0));
#endif
		;
		/* merge: fresh1 = 0(328, 325, 328) */
		reached[0][325] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.fresh1);
		now.fresh1 = 0;
#ifdef VAR_RANGES
		logval("fresh1", ((int)now.fresh1));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 102: // STATE 326 - braid.pml:305 - [s = 0] (0:335:2 - 1)
		IfNotBlocked
		reached[0][326] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: .(goto)(335, 329, 335) */
		reached[0][329] = 1;
		;
		/* merge: o = (1-s)(335, 330, 335) */
		reached[0][330] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = (1-((int)now.s));
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 103: // STATE 327 - braid.pml:305 - [s = 1] (0:335:2 - 1)
		IfNotBlocked
		reached[0][327] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 1;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: .(goto)(335, 329, 335) */
		reached[0][329] = 1;
		;
		/* merge: o = (1-s)(335, 330, 335) */
		reached[0][330] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = (1-((int)now.s));
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 104: // STATE 330 - braid.pml:306 - [o = (1-s)] (0:335:1 - 3)
		IfNotBlocked
		reached[0][330] = 1;
		(trpt+1)->bup.oval = ((int)now.o);
		now.o = (1-((int)now.s));
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 105: // STATE 331 - braid.pml:307 - [e = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][331] = 1;
		(trpt+1)->bup.oval = ((int)now.e);
		now.e = 1;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 106: // STATE 332 - braid.pml:307 - [e = 2] (0:0:1 - 1)
		IfNotBlocked
		reached[0][332] = 1;
		(trpt+1)->bup.oval = ((int)now.e);
		now.e = 2;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 107: // STATE 333 - braid.pml:307 - [e = 3] (0:0:1 - 1)
		IfNotBlocked
		reached[0][333] = 1;
		(trpt+1)->bup.oval = ((int)now.e);
		now.e = 3;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 108: // STATE 334 - braid.pml:307 - [e = 4] (0:0:1 - 1)
		IfNotBlocked
		reached[0][334] = 1;
		(trpt+1)->bup.oval = ((int)now.e);
		now.e = 4;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 109: // STATE 337 - braid.pml:308 - [k = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[0][337] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 110: // STATE 338 - braid.pml:308 - [k = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][338] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 1;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 111: // STATE 339 - braid.pml:308 - [k = 2] (0:0:1 - 1)
		IfNotBlocked
		reached[0][339] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 2;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 112: // STATE 340 - braid.pml:308 - [k = 3] (0:0:1 - 1)
		IfNotBlocked
		reached[0][340] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 3;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 113: // STATE 341 - braid.pml:308 - [k = 4] (0:0:1 - 1)
		IfNotBlocked
		reached[0][341] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 4;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 114: // STATE 342 - braid.pml:308 - [k = 5] (0:0:1 - 1)
		IfNotBlocked
		reached[0][342] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 5;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 115: // STATE 343 - braid.pml:308 - [k = 6] (0:0:1 - 1)
		IfNotBlocked
		reached[0][343] = 1;
		(trpt+1)->bup.oval = ((int)now.k);
		now.k = 6;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 116: // STATE 346 - braid.pml:310 - [((sent[((((s*(4+2))+e)*7)+k)]>0))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][346] = 1;
		if (!((((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.e))*7)+((int)now.k)), 84) ])>0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 117: // STATE 347 - braid.pml:314 - [(((((got[o]<sent[((((s*(4+2))+e)*7)+k)])||(state[o]==1))||(state[o]==3))||(k==3)))] (519:0:1 - 1)
		IfNotBlocked
		reached[0][347] = 1;
		if (!(((((((int)now.got[ Index(((int)now.o), 2) ])<((int)now.sent[ Index(((((((int)now.s)*(4+2))+((int)now.e))*7)+((int)now.k)), 84) ]))||(((int)now.state[ Index(((int)now.o), 2) ])==1))||(((int)now.state[ Index(((int)now.o), 2) ])==3))||(((int)now.k)==3))))
			continue;
		/* merge: isnew = 1(0, 348, 519) */
		reached[0][348] = 1;
		(trpt+1)->bup.oval = ((int)now.isnew);
		now.isnew = 1;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 351, 519) */
		reached[0][351] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 118: // STATE 349 - braid.pml:315 - [isnew = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[0][349] = 1;
		(trpt+1)->bup.oval = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 119: // STATE 352 - braid.pml:174 - [assert(((e-1)<=have[o]))] (0:363:0 - 1)
		IfNotBlocked
		reached[0][352] = 1;
		spin_assert(((((int)now.e)-1)<=((int)now.have[ Index(((int)now.o), 2) ])), "((e-1)<=have[o])", II, tt, t);
		/* merge: assert((e<=(epoch[o]+1)))(363, 353, 363) */
		reached[0][353] = 1;
		spin_assert((((int)now.e)<=(((int)now.epoch[ Index(((int)now.o), 2) ])+1)), "(e<=(epoch[o]+1))", II, tt, t);
		_m = 3; goto P999; /* 1 */
	case 120: // STATE 354 - braid.pml:178 - [((e==(epoch[o]+1)))] (361:0:0 - 1)
		IfNotBlocked
		reached[0][354] = 1;
		if (!((((int)now.e)==(((int)now.epoch[ Index(((int)now.o), 2) ])+1))))
			continue;
		/* merge: assert((state[o]==10))(0, 355, 361) */
		reached[0][355] = 1;
		spin_assert((((int)now.state[ Index(((int)now.o), 2) ])==10), "(state[o]==10)", II, tt, t);
		_m = 3; goto P999; /* 1 */
	case 121: // STATE 356 - braid.pml:92 - [epoch[o] = (epoch[o]+1)] (0:516:5 - 1)
		IfNotBlocked
		reached[0][356] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.epoch[ Index(((int)now.o), 2) ]);
		now.epoch[ Index(now.o, 2) ] = (((int)now.epoch[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("epoch[o]", ((int)now.epoch[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: state[o] = 0(516, 357, 516) */
		reached[0][357] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(516, 358, 516) */
		reached[0][358] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: mixed[o] = 0(516, 359, 516) */
		reached[0][359] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: pair[o] = 0(516, 360, 516) */
		reached[0][360] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.pair[ Index(((int)now.o), 2) ]);
		now.pair[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("pair[o]", ((int)now.pair[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 364, 516) */
		reached[0][364] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 122: // STATE 365 - braid.pml:192 - [((e==epoch[o]))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][365] = 1;
		if (!((((int)now.e)==((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 123: // STATE 366 - braid.pml:195 - [(((state[o]==1)&&(k==5)))] (379:0:2 - 1)
		IfNotBlocked
		reached[0][366] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==1)&&(((int)now.k)==5))))
			continue;
		/* merge: state[o] = 2(379, 367, 379) */
		reached[0][367] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 2;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(379, 368, 379) */
		reached[0][368] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 124: // STATE 369 - braid.pml:162 - [((isnew&&(got[o]<2)))] (377:0:1 - 1)
		IfNotBlocked
		reached[0][369] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 370, 377) */
		reached[0][370] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 373, 377) */
		reached[0][373] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 125: // STATE 374 - braid.pml:166 - [((e!=epoch[o]))] (513:0:2 - 1)
		IfNotBlocked
		reached[0][374] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(513, 375, 513) */
		reached[0][375] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(513, 378, 513) */
		reached[0][378] = 1;
		;
		/* merge: isnew = 0(513, 380, 513) */
		reached[0][380] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 383, 513) */
		reached[0][383] = 1;
		;
		_m = 3; goto P999; /* 4 */
	case 126: // STATE 380 - braid.pml:199 - [isnew = 0] (0:513:1 - 3)
		IfNotBlocked
		reached[0][380] = 1;
		(trpt+1)->bup.oval = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 383, 513) */
		reached[0][383] = 1;
		;
		_m = 3; goto P999; /* 1 */
	case 127: // STATE 384 - braid.pml:203 - [(((state[o]==2)&&(k==5)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][384] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==2)&&(((int)now.k)==5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 128: // STATE 385 - braid.pml:162 - [((isnew&&(got[o]<2)))] (393:0:1 - 1)
		IfNotBlocked
		reached[0][385] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 386, 393) */
		reached[0][386] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 389, 393) */
		reached[0][389] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 129: // STATE 390 - braid.pml:166 - [((e!=epoch[o]))] (400:0:1 - 1)
		IfNotBlocked
		reached[0][390] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 391, 400) */
		reached[0][391] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 394, 400) */
		reached[0][394] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 130: // STATE 396 - braid.pml:206 - [((got[o]==2))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][396] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(529, 397, 529) */
		reached[0][397] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 3(529, 398, 529) */
		reached[0][398] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 3;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 401, 529) */
		reached[0][401] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 13 */
	case 131: // STATE 402 - braid.pml:209 - [(((state[o]==3)&&(k==6)))] (415:0:2 - 1)
		IfNotBlocked
		reached[0][402] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==3)&&(((int)now.k)==6))))
			continue;
		/* merge: state[o] = 4(415, 403, 415) */
		reached[0][403] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 4;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(415, 404, 415) */
		reached[0][404] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 132: // STATE 405 - braid.pml:162 - [((isnew&&(got[o]<2)))] (413:0:1 - 1)
		IfNotBlocked
		reached[0][405] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 406, 413) */
		reached[0][406] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 409, 413) */
		reached[0][409] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 133: // STATE 410 - braid.pml:166 - [((e!=epoch[o]))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][410] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(529, 411, 529) */
		reached[0][411] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 414, 529) */
		reached[0][414] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 12 */
	case 134: // STATE 416 - braid.pml:213 - [(((state[o]==4)&&(k==6)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][416] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==4)&&(((int)now.k)==6))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 135: // STATE 417 - braid.pml:162 - [((isnew&&(got[o]<2)))] (425:0:1 - 1)
		IfNotBlocked
		reached[0][417] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 418, 425) */
		reached[0][418] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 421, 425) */
		reached[0][421] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 136: // STATE 422 - braid.pml:166 - [((e!=epoch[o]))] (447:0:1 - 1)
		IfNotBlocked
		reached[0][422] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 423, 447) */
		reached[0][423] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 426, 447) */
		reached[0][426] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 137: // STATE 428 - braid.pml:216 - [((got[o]==2))] (439:0:0 - 1)
		IfNotBlocked
		reached[0][428] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(0, 429, 439) */
		reached[0][429] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		_m = 3; goto P999; /* 1 */
	case 138: // STATE 430 - braid.pml:82 - [assert((epoch[o]==(have[o]+1)))] (0:436:1 - 1)
		IfNotBlocked
		reached[0][430] = 1;
		spin_assert((((int)now.epoch[ Index(((int)now.o), 2) ])==(((int)now.have[ Index(((int)now.o), 2) ])+1)), "(epoch[o]==(have[o]+1))", II, tt, t);
		/* merge: have[o] = epoch[o](436, 431, 436) */
		reached[0][431] = 1;
		(trpt+1)->bup.oval = ((int)now.have[ Index(((int)now.o), 2) ]);
		now.have[ Index(now.o, 2) ] = ((int)now.epoch[ Index(((int)now.o), 2) ]);
#ifdef VAR_RANGES
		logval("have[o]", ((int)now.have[ Index(((int)now.o), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 139: // STATE 432 - braid.pml:85 - [((o==0))] (445:0:1 - 1)
		IfNotBlocked
		reached[0][432] = 1;
		if (!((((int)now.o)==0)))
			continue;
		/* merge: key0[epoch[o]] = pair[o](445, 433, 445) */
		reached[0][433] = 1;
		(trpt+1)->bup.oval = ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]);
		now.key0[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.o), 2) ]);
#ifdef VAR_RANGES
		logval("key0[epoch[o]]", ((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(445, 437, 445) */
		reached[0][437] = 1;
		;
		/* merge: assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))(445, 438, 445) */
		reached[0][438] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.o), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.o), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]))), "(((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]]))", II, tt, t);
		_m = 3; goto P999; /* 3 */
	case 140: // STATE 435 - braid.pml:86 - [key1[epoch[o]] = pair[o]] (0:445:1 - 1)
		IfNotBlocked
		reached[0][435] = 1;
		(trpt+1)->bup.oval = ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]);
		now.key1[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = ((int)now.pair[ Index(((int)now.o), 2) ]);
#ifdef VAR_RANGES
		logval("key1[epoch[o]]", ((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]));
#endif
		;
		/* merge: .(goto)(445, 437, 445) */
		reached[0][437] = 1;
		;
		/* merge: assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))(445, 438, 445) */
		reached[0][438] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.o), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.o), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]))), "(((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]]))", II, tt, t);
		_m = 3; goto P999; /* 2 */
	case 141: // STATE 438 - braid.pml:88 - [assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))] (0:445:0 - 3)
		IfNotBlocked
		reached[0][438] = 1;
		spin_assert((((((int)now.have[0])<((int)now.epoch[ Index(((int)now.o), 2) ]))||(((int)now.have[1])<((int)now.epoch[ Index(((int)now.o), 2) ])))||(((int)now.key0[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ])==((int)now.key1[ Index(((int)now.epoch[ Index(((int)now.o), 2) ]), 5) ]))), "(((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]]))", II, tt, t);
		_m = 3; goto P999; /* 0 */
	case 142: // STATE 440 - braid.pml:92 - [epoch[o] = (epoch[o]+1)] (0:529:10 - 1)
		IfNotBlocked
		reached[0][440] = 1;
		(trpt+1)->bup.ovals = grab_ints(10);
		(trpt+1)->bup.ovals[0] = ((int)now.epoch[ Index(((int)now.o), 2) ]);
		now.epoch[ Index(now.o, 2) ] = (((int)now.epoch[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("epoch[o]", ((int)now.epoch[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: state[o] = 5(529, 441, 529) */
		reached[0][441] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 5;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(529, 442, 529) */
		reached[0][442] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: mixed[o] = 0(529, 443, 529) */
		reached[0][443] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: pair[o] = 0(529, 444, 529) */
		reached[0][444] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.pair[ Index(((int)now.o), 2) ]);
		now.pair[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("pair[o]", ((int)now.pair[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 448, 529) */
		reached[0][448] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[6] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[7] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[8] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[9] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 15 */
	case 143: // STATE 449 - braid.pml:226 - [(((state[o]==5)&&(k==1)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][449] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==5)&&(((int)now.k)==1))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 144: // STATE 450 - braid.pml:162 - [((isnew&&(got[o]<2)))] (458:0:1 - 1)
		IfNotBlocked
		reached[0][450] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 451, 458) */
		reached[0][451] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 454, 458) */
		reached[0][454] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 145: // STATE 455 - braid.pml:166 - [((e!=epoch[o]))] (467:0:1 - 1)
		IfNotBlocked
		reached[0][455] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 456, 467) */
		reached[0][456] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 459, 467) */
		reached[0][459] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 146: // STATE 461 - braid.pml:229 - [((got[o]==2))] (529:0:8 - 1)
		IfNotBlocked
		reached[0][461] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(529, 462, 529) */
		reached[0][462] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: pair[o] = ((2*e)+s)(529, 463, 529) */
		reached[0][463] = 1;
		(trpt+1)->bup.ovals = grab_ints(8);
		(trpt+1)->bup.ovals[0] = ((int)now.pair[ Index(((int)now.o), 2) ]);
		now.pair[ Index(now.o, 2) ] = ((2*((int)now.e))+((int)now.s));
#ifdef VAR_RANGES
		logval("pair[o]", ((int)now.pair[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: got[o] = 0(529, 464, 529) */
		reached[0][464] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = 0;
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: state[o] = 6(529, 465, 529) */
		reached[0][465] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 6;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 468, 529) */
		reached[0][468] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[6] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[7] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 15 */
	case 147: // STATE 469 - braid.pml:236 - [(((state[o]==7)&&((k==2)||(k==3))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][469] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==7)&&((((int)now.k)==2)||(((int)now.k)==3)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 148: // STATE 470 - braid.pml:162 - [((isnew&&(got[o]<2)))] (478:0:1 - 1)
		IfNotBlocked
		reached[0][470] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 471, 478) */
		reached[0][471] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 474, 478) */
		reached[0][474] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 149: // STATE 475 - braid.pml:166 - [((e!=epoch[o]))] (490:0:1 - 1)
		IfNotBlocked
		reached[0][475] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 476, 490) */
		reached[0][476] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 479, 490) */
		reached[0][479] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 150: // STATE 481 - braid.pml:239 - [(((got[o]==2)&&(k==3)))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][481] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])==2)&&(((int)now.k)==3))))
			continue;
		/* merge: assert(!(mixed[o]))(529, 482, 529) */
		reached[0][482] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 10(529, 483, 529) */
		reached[0][483] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 10;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 491, 529) */
		reached[0][491] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 13 */
	case 151: // STATE 484 - braid.pml:240 - [(((got[o]==2)&&(k==2)))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][484] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])==2)&&(((int)now.k)==2))))
			continue;
		/* merge: assert(!(mixed[o]))(529, 485, 529) */
		reached[0][485] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 8(529, 486, 529) */
		reached[0][486] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 8;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 491, 529) */
		reached[0][491] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 13 */
	case 152: // STATE 487 - braid.pml:244 - [(((got[o]<2)&&(k==3)))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][487] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])<2)&&(((int)now.k)==3))))
			continue;
		/* merge: state[o] = 9(529, 488, 529) */
		reached[0][488] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 9;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 491, 529) */
		reached[0][491] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 12 */
	case 153: // STATE 489 - braid.pml:245 - [(((got[o]<2)&&(k==2)))] (529:0:5 - 1)
		IfNotBlocked
		reached[0][489] = 1;
		if (!(((((int)now.got[ Index(((int)now.o), 2) ])<2)&&(((int)now.k)==2))))
			continue;
		/* merge: .(goto)(529, 491, 529) */
		reached[0][491] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 11 */
	case 154: // STATE 492 - braid.pml:248 - [(((state[o]==8)&&((k==3)||(k==4))))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][492] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==8)&&((((int)now.k)==3)||(((int)now.k)==4)))))
			continue;
		/* merge: state[o] = 10(529, 493, 529) */
		reached[0][493] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 10;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 11 */
	case 155: // STATE 494 - braid.pml:254 - [(((state[o]==9)&&((k==2)||(k==3))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][494] = 1;
		if (!(((((int)now.state[ Index(((int)now.o), 2) ])==9)&&((((int)now.k)==2)||(((int)now.k)==3)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 156: // STATE 495 - braid.pml:162 - [((isnew&&(got[o]<2)))] (503:0:1 - 1)
		IfNotBlocked
		reached[0][495] = 1;
		if (!((((int)now.isnew)&&(((int)now.got[ Index(((int)now.o), 2) ])<2))))
			continue;
		/* merge: got[o] = (got[o]+1)(0, 496, 503) */
		reached[0][496] = 1;
		(trpt+1)->bup.oval = ((int)now.got[ Index(((int)now.o), 2) ]);
		now.got[ Index(now.o, 2) ] = (((int)now.got[ Index(((int)now.o), 2) ])+1);
#ifdef VAR_RANGES
		logval("got[o]", ((int)now.got[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 499, 503) */
		reached[0][499] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 157: // STATE 500 - braid.pml:166 - [((e!=epoch[o]))] (510:0:1 - 1)
		IfNotBlocked
		reached[0][500] = 1;
		if (!((((int)now.e)!=((int)now.epoch[ Index(((int)now.o), 2) ]))))
			continue;
		/* merge: mixed[o] = 1(0, 501, 510) */
		reached[0][501] = 1;
		(trpt+1)->bup.oval = ((int)now.mixed[ Index(((int)now.o), 2) ]);
		now.mixed[ Index(now.o, 2) ] = 1;
#ifdef VAR_RANGES
		logval("mixed[o]", ((int)now.mixed[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(0, 504, 510) */
		reached[0][504] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 158: // STATE 506 - braid.pml:257 - [((got[o]==2))] (529:0:6 - 1)
		IfNotBlocked
		reached[0][506] = 1;
		if (!((((int)now.got[ Index(((int)now.o), 2) ])==2)))
			continue;
		/* merge: assert(!(mixed[o]))(529, 507, 529) */
		reached[0][507] = 1;
		spin_assert( !(((int)now.mixed[ Index(((int)now.o), 2) ])), " !(mixed[o])", II, tt, t);
		/* merge: state[o] = 10(529, 508, 529) */
		reached[0][508] = 1;
		(trpt+1)->bup.ovals = grab_ints(6);
		(trpt+1)->bup.ovals[0] = ((int)now.state[ Index(((int)now.o), 2) ]);
		now.state[ Index(now.o, 2) ] = 10;
#ifdef VAR_RANGES
		logval("state[o]", ((int)now.state[ Index(((int)now.o), 2) ]));
#endif
		;
		/* merge: .(goto)(529, 511, 529) */
		reached[0][511] = 1;
		;
		/* merge: .(goto)(529, 514, 529) */
		reached[0][514] = 1;
		;
		/* merge: .(goto)(529, 517, 529) */
		reached[0][517] = 1;
		;
		/* merge: assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))(529, 518, 529) */
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[5] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 13 */
	case 159: // STATE 518 - braid.pml:271 - [assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))] (0:529:5 - 25)
		IfNotBlocked
		reached[0][518] = 1;
		spin_assert(((((int)now.epoch[0])!=((int)now.epoch[1]))||((((int)now.state[0])<=4)!=(((int)now.state[1])<=4))), "((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4)))", II, tt, t);
		/* merge: .(goto)(529, 522, 529) */
		reached[0][522] = 1;
		;
		/* merge: s = 0(529, 523, 529) */
		reached[0][523] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 7 */
	case 160: // STATE 523 - braid.pml:320 - [s = 0] (0:529:5 - 3)
		IfNotBlocked
		reached[0][523] = 1;
		(trpt+1)->bup.ovals = grab_ints(5);
		(trpt+1)->bup.ovals[0] = ((int)now.s);
		now.s = 0;
#ifdef VAR_RANGES
		logval("s", ((int)now.s));
#endif
		;
		/* merge: o = 0(529, 524, 529) */
		reached[0][524] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.o);
		now.o = 0;
#ifdef VAR_RANGES
		logval("o", ((int)now.o));
#endif
		;
		/* merge: e = 0(529, 525, 529) */
		reached[0][525] = 1;
		(trpt+1)->bup.ovals[2] = ((int)now.e);
		now.e = 0;
#ifdef VAR_RANGES
		logval("e", ((int)now.e));
#endif
		;
		/* merge: k = 0(529, 526, 529) */
		reached[0][526] = 1;
		(trpt+1)->bup.ovals[3] = ((int)now.k);
		now.k = 0;
#ifdef VAR_RANGES
		logval("k", ((int)now.k));
#endif
		;
		/* merge: isnew = 0(529, 527, 529) */
		reached[0][527] = 1;
		(trpt+1)->bup.ovals[4] = ((int)now.isnew);
		now.isnew = 0;
#ifdef VAR_RANGES
		logval("isnew", ((int)now.isnew));
#endif
		;
		/* merge: .(goto)(0, 530, 529) */
		reached[0][530] = 1;
		;
		_m = 3; goto P999; /* 5 */
	case 161: // STATE 532 - braid.pml:323 - [-end-] (0:0:0 - 3)
		IfNotBlocked
		reached[0][532] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */
	case  _T5:	/* np_ */
		if (!((!(trpt->o_pm&4) && !(trpt->tau&128))))
			continue;
		/* else fall through */
	case  _T2:	/* true */
		_m = 3; goto P999;
#undef rand
	}

