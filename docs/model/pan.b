	switch (t->back) {
	default: Uerror("bad return move");
	case  0: goto R999; /* nothing to undo */

		 /* CLAIM progress */
;
		;
		;
		;
		;
		;
		;
		;
		;
		;
		;
		;
		
	case 9: // STATE 22
		;
		p_restor(II);
		;
		;
		goto R999;

		 /* PROC network */
;
		;
		
	case 11: // STATE 5
		;
		now.fresh1 = trpt->bup.ovals[1];
		now.fresh0 = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 12: // STATE 6
		;
		now.s = trpt->bup.oval;
		;
		goto R999;

	case 13: // STATE 7
		;
		now.s = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 15: // STATE 12
		;
		now.e = trpt->bup.ovals[1];
		now.o = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 16: // STATE 23
		;
		now.used[ Index(now.s, 2) ] = trpt->bup.ovals[4];
		now.number[ Index(now.s, 2) ] = trpt->bup.ovals[3];
		now.used[ Index(now.s, 2) ] = trpt->bup.ovals[2];
		now.number[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.chain[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 17: // STATE 23
		;
		now.used[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.number[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 18: // STATE 27
		;
		now.k = trpt->bup.ovals[2];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.pair[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;

	case 19: // STATE 29
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 20: // STATE 31
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 21: // STATE 33
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 22: // STATE 35
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 23: // STATE 37
		;
		now.k = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 25: // STATE 40
		;
		now.have[ Index(now.s, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 26: // STATE 51
		;
		now.k = trpt->bup.ovals[3];
		now.got[ Index(now.s, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.key0[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 4);
		goto R999;

	case 27: // STATE 51
		;
		now.k = trpt->bup.ovals[3];
		now.got[ Index(now.s, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.key1[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 4);
		goto R999;

	case 28: // STATE 51
		;
		now.k = trpt->bup.ovals[2];
		now.got[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;

	case 29: // STATE 53
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 30: // STATE 55
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 31: // STATE 57
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 32: // STATE 73
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.sent[ Index(((((now.s*(4+2))+now.epoch[ Index(now.s, 2) ])*7)+now.k), 84) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 33: // STATE 73
		;
		now.isnew = trpt->bup.ovals[4];
		now.k = trpt->bup.ovals[3];
		now.e = trpt->bup.ovals[2];
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 34: // STATE 77
		;
		now.fresh1 = trpt->bup.ovals[1];
		now.fresh0 = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 35: // STATE 78
		;
		now.s = trpt->bup.oval;
		;
		goto R999;

	case 36: // STATE 79
		;
		now.s = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 38: // STATE 84
		;
		now.e = trpt->bup.ovals[1];
		now.o = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 39: // STATE 95
		;
		now.used[ Index(now.s, 2) ] = trpt->bup.ovals[4];
		now.number[ Index(now.s, 2) ] = trpt->bup.ovals[3];
		now.used[ Index(now.s, 2) ] = trpt->bup.ovals[2];
		now.number[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.chain[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 40: // STATE 95
		;
		now.used[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.number[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 41: // STATE 99
		;
		now.k = trpt->bup.ovals[2];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.pair[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;

	case 42: // STATE 101
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 43: // STATE 103
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 44: // STATE 105
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 45: // STATE 107
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 46: // STATE 109
		;
		now.k = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 48: // STATE 112
		;
		now.have[ Index(now.s, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 49: // STATE 123
		;
		now.k = trpt->bup.ovals[3];
		now.got[ Index(now.s, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.key0[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 4);
		goto R999;

	case 50: // STATE 123
		;
		now.k = trpt->bup.ovals[3];
		now.got[ Index(now.s, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.key1[ Index(now.epoch[ Index(now.s, 2) ], 5) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 4);
		goto R999;

	case 51: // STATE 123
		;
		now.k = trpt->bup.ovals[2];
		now.got[ Index(now.s, 2) ] = trpt->bup.ovals[1];
		now.state[ Index(now.s, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;

	case 52: // STATE 125
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 53: // STATE 127
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 54: // STATE 129
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 55: // STATE 139
		;
		now.isnew = trpt->bup.ovals[2];
		now.e = trpt->bup.ovals[1];
		now.sent[ Index(((((now.s*(4+2))+now.epoch[ Index(now.s, 2) ])*7)+now.k), 84) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;

	case 56: // STATE 139
		;
		now.isnew = trpt->bup.ovals[1];
		now.e = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;
;
		
	case 57: // STATE 140
		goto R999;
;
		
	case 58: // STATE 142
		goto R999;

	case 59: // STATE 148
		;
		now.pair[ Index(now.o, 2) ] = trpt->bup.ovals[4];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[3];
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.epoch[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;
;
		;
		
	case 61: // STATE 156
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 62: // STATE 158
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 63: // STATE 168
		;
		now.isnew = trpt->bup.ovals[1];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 64: // STATE 168
		;
		now.isnew = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 66: // STATE 174
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 67: // STATE 179
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 68: // STATE 186
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 69: // STATE 192
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 70: // STATE 194
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 71: // STATE 199
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 73: // STATE 206
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 74: // STATE 211
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;
;
		
	case 75: // STATE 216
		goto R999;

	case 76: // STATE 219
		;
		now.have[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 77: // STATE 221
		;
		now.key0[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = trpt->bup.oval;
		;
		goto R999;

	case 78: // STATE 223
		;
		now.key1[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = trpt->bup.oval;
		;
		goto R999;
;
		
	case 79: // STATE 226
		goto R999;

	case 80: // STATE 232
		;
		now.pair[ Index(now.o, 2) ] = trpt->bup.ovals[4];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[3];
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.epoch[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;
;
		;
		
	case 82: // STATE 239
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 83: // STATE 244
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 84: // STATE 253
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[2];
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.pair[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;
;
		;
		
	case 86: // STATE 259
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 87: // STATE 264
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 88: // STATE 271
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 89: // STATE 274
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 90: // STATE 276
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;
;
		
	case 91: // STATE 277
		goto R999;

	case 92: // STATE 281
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 94: // STATE 284
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 95: // STATE 289
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 96: // STATE 296
		;
		now.state[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;
;
		
	case 97: // STATE 306
		goto R999;

	case 98: // STATE 321
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.fresh0 = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 99: // STATE 321
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.fresh1 = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 100: // STATE 321
		;
		now.isnew = trpt->bup.ovals[4];
		now.k = trpt->bup.ovals[3];
		now.e = trpt->bup.ovals[2];
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 101: // STATE 325
		;
		now.fresh1 = trpt->bup.ovals[1];
		now.fresh0 = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 102: // STATE 330
		;
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 103: // STATE 330
		;
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 104: // STATE 330
		;
		now.o = trpt->bup.oval;
		;
		goto R999;

	case 105: // STATE 331
		;
		now.e = trpt->bup.oval;
		;
		goto R999;

	case 106: // STATE 332
		;
		now.e = trpt->bup.oval;
		;
		goto R999;

	case 107: // STATE 333
		;
		now.e = trpt->bup.oval;
		;
		goto R999;

	case 108: // STATE 334
		;
		now.e = trpt->bup.oval;
		;
		goto R999;

	case 109: // STATE 337
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 110: // STATE 338
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 111: // STATE 339
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 112: // STATE 340
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 113: // STATE 341
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 114: // STATE 342
		;
		now.k = trpt->bup.oval;
		;
		goto R999;

	case 115: // STATE 343
		;
		now.k = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 117: // STATE 348
		;
		now.isnew = trpt->bup.oval;
		;
		goto R999;

	case 118: // STATE 349
		;
		now.isnew = trpt->bup.oval;
		;
		goto R999;
;
		
	case 119: // STATE 352
		goto R999;
;
		
	case 120: // STATE 354
		goto R999;

	case 121: // STATE 360
		;
		now.pair[ Index(now.o, 2) ] = trpt->bup.ovals[4];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[3];
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.epoch[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;
;
		;
		
	case 123: // STATE 368
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 124: // STATE 370
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 125: // STATE 380
		;
		now.isnew = trpt->bup.ovals[1];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 126: // STATE 380
		;
		now.isnew = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 128: // STATE 386
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 129: // STATE 391
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 130: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 131: // STATE 404
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 132: // STATE 406
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 133: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;
;
		;
		
	case 135: // STATE 418
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 136: // STATE 423
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;
;
		
	case 137: // STATE 428
		goto R999;

	case 138: // STATE 431
		;
		now.have[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 139: // STATE 433
		;
		now.key0[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = trpt->bup.oval;
		;
		goto R999;

	case 140: // STATE 435
		;
		now.key1[ Index(now.epoch[ Index(now.o, 2) ], 5) ] = trpt->bup.oval;
		;
		goto R999;
;
		
	case 141: // STATE 438
		goto R999;

	case 142: // STATE 527
		;
		now.isnew = trpt->bup.ovals[9];
		now.k = trpt->bup.ovals[8];
		now.e = trpt->bup.ovals[7];
		now.o = trpt->bup.ovals[6];
		now.s = trpt->bup.ovals[5];
		now.pair[ Index(now.o, 2) ] = trpt->bup.ovals[4];
		now.mixed[ Index(now.o, 2) ] = trpt->bup.ovals[3];
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[2];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.epoch[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 10);
		goto R999;
;
		;
		
	case 144: // STATE 451
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 145: // STATE 456
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 146: // STATE 527
		;
		now.isnew = trpt->bup.ovals[7];
		now.k = trpt->bup.ovals[6];
		now.e = trpt->bup.ovals[5];
		now.o = trpt->bup.ovals[4];
		now.s = trpt->bup.ovals[3];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[2];
		now.got[ Index(now.o, 2) ] = trpt->bup.ovals[1];
		now.pair[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 8);
		goto R999;
;
		;
		
	case 148: // STATE 471
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 149: // STATE 476
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 150: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 151: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 152: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 153: // STATE 527
		;
		now.isnew = trpt->bup.ovals[4];
		now.k = trpt->bup.ovals[3];
		now.e = trpt->bup.ovals[2];
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 154: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;
;
		;
		
	case 156: // STATE 496
		;
		now.got[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 157: // STATE 501
		;
		now.mixed[ Index(now.o, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 158: // STATE 527
		;
		now.isnew = trpt->bup.ovals[5];
		now.k = trpt->bup.ovals[4];
		now.e = trpt->bup.ovals[3];
		now.o = trpt->bup.ovals[2];
		now.s = trpt->bup.ovals[1];
		now.state[ Index(now.o, 2) ] = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 6);
		goto R999;

	case 159: // STATE 527
		;
		now.isnew = trpt->bup.ovals[4];
		now.k = trpt->bup.ovals[3];
		now.e = trpt->bup.ovals[2];
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 160: // STATE 527
		;
		now.isnew = trpt->bup.ovals[4];
		now.k = trpt->bup.ovals[3];
		now.e = trpt->bup.ovals[2];
		now.o = trpt->bup.ovals[1];
		now.s = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 5);
		goto R999;

	case 161: // STATE 532
		;
		p_restor(II);
		;
		;
		goto R999;
	}

