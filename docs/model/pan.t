#ifdef PEG
struct T_SRC {
	char *fl; int ln;
} T_SRC[NTRANS];

void
tr_2_src(int m, char *file, int ln)
{	T_SRC[m].fl = file;
	T_SRC[m].ln = ln;
}

void
putpeg(int n, int m)
{	printf("%5d	trans %4d ", m, n);
	printf("%s:%d\n",
		T_SRC[n].fl, T_SRC[n].ln);
}
#endif

void
settable(void)
{	Trans *T;
	Trans *settr(int, int, int, int, int, char *, int, int, int);

	trans = (Trans ***) emalloc(3*sizeof(Trans **));

	/* proctype 1: progress */

	trans[1] = (Trans **) emalloc(23*sizeof(Trans *));

	trans[1][8]	= settr(539,0,7,1,0,".(goto)", 0, 2, 0);
	T = trans[1][7] = settr(538,0,0,0,0,"DO", 0, 2, 0);
	T = T->nxt	= settr(538,0,1,0,0,"DO", 0, 2, 0);
	T = T->nxt	= settr(538,0,3,0,0,"DO", 0, 2, 0);
	    T->nxt	= settr(538,0,5,0,0,"DO", 0, 2, 0);
	trans[1][1]	= settr(532,0,12,3,0,"(((!(((epoch[0]>4)&&(epoch[1]>4)))&&fresh0)&&fresh1))", 1, 2, 0);
	trans[1][2]	= settr(533,0,12,1,0,"goto accept_S81", 0, 2, 0);
	trans[1][3]	= settr(534,0,19,4,0,"((!(((epoch[0]>4)&&(epoch[1]>4)))&&fresh0))", 1, 2, 0);
	trans[1][4]	= settr(535,0,19,1,0,"goto T1_S81", 0, 2, 0);
	trans[1][5]	= settr(536,0,7,5,0,"(!(((epoch[0]>4)&&(epoch[1]>4))))", 1, 2, 0);
	trans[1][6]	= settr(537,0,7,1,0,"goto T0_init", 0, 2, 0);
	trans[1][9]	= settr(540,0,12,1,0,"break", 0, 2, 0);
	trans[1][13]	= settr(544,0,12,1,0,".(goto)", 0, 2, 0);
	T = trans[1][12] = settr(543,0,0,0,0,"DO", 0, 2, 0);
	    T->nxt	= settr(543,0,10,0,0,"DO", 0, 2, 0);
	trans[1][10]	= settr(541,0,7,6,0,"(!(((epoch[0]>4)&&(epoch[1]>4))))", 1, 2, 0);
	trans[1][11]	= settr(542,0,7,1,0,"goto T0_init", 0, 2, 0);
	trans[1][14]	= settr(545,0,19,1,0,"break", 0, 2, 0);
	trans[1][20]	= settr(551,0,19,1,0,".(goto)", 0, 2, 0);
	T = trans[1][19] = settr(550,0,0,0,0,"DO", 0, 2, 0);
	T = T->nxt	= settr(550,0,15,0,0,"DO", 0, 2, 0);
	    T->nxt	= settr(550,0,17,0,0,"DO", 0, 2, 0);
	trans[1][15]	= settr(546,0,12,7,0,"((!(((epoch[0]>4)&&(epoch[1]>4)))&&fresh1))", 1, 2, 0);
	trans[1][16]	= settr(547,0,12,1,0,"goto accept_S81", 0, 2, 0);
	trans[1][17]	= settr(548,0,19,8,0,"(!(((epoch[0]>4)&&(epoch[1]>4))))", 1, 2, 0);
	trans[1][18]	= settr(549,0,19,1,0,"goto T1_S81", 0, 2, 0);
	trans[1][21]	= settr(552,0,22,1,0,"break", 0, 2, 0);
	trans[1][22]	= settr(553,0,0,9,9,"-end-", 0, 3500, 0);

	/* proctype 0: network */

	trans[0] = (Trans **) emalloc(533*sizeof(Trans *));

	trans[0][530]	= settr(529,0,529,1,0,".(goto)", 0, 2, 0);
	T = trans[0][529] = settr(528,0,0,0,0,"DO", 0, 2, 0);
	T = T->nxt	= settr(528,0,1,0,0,"DO", 0, 2, 0);
	T = T->nxt	= settr(528,0,74,0,0,"DO", 0, 2, 0);
	T = T->nxt	= settr(528,0,322,0,0,"DO", 0, 2, 0);
	    T->nxt	= settr(528,0,528,0,0,"DO", 0, 2, 0);
	trans[0][1]	= settr(0,0,532,10,0,"(((epoch[0]>4)&&(epoch[1]>4)))", 1, 2, 0);
	trans[0][2]	= settr(1,0,532,1,0,"goto :b0", 0, 2, 0);
	T = trans[ 0][74] = settr(73,2,0,0,0,"ATOMIC", 1, 2, 0);
	T->nxt	= settr(73,2,3,0,0,"ATOMIC", 1, 2, 0);
	trans[0][3]	= settr(2,2,8,11,11,"(!(((epoch[0]>4)&&(epoch[1]>4))))", 1, 2, 0); /* m: 4 -> 8,0 */
	reached0[4] = 1;
	trans[0][4]	= settr(0,0,0,0,0,"fresh0 = 0",0,0,0);
	trans[0][5]	= settr(0,0,0,0,0,"fresh1 = 0",0,0,0);
	T = trans[0][8] = settr(7,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(7,2,6,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(7,2,7,0,0,"IF", 1, 2, 0);
	trans[0][6]	= settr(5,2,67,12,12,"s = 0", 1, 2, 0);
	trans[0][9]	= settr(8,2,67,1,0,".(goto)", 1, 2, 0);
	trans[0][7]	= settr(6,2,67,13,13,"s = 1", 1, 2, 0);
	T = trans[0][67] = settr(66,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(66,2,10,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(66,2,66,0,0,"IF", 1, 2, 0);
	trans[0][10]	= settr(9,2,65,14,0,"((epoch[s]<=4))", 1, 2, 0);
	T = trans[ 0][65] = settr(64,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(64,0,11,0,0,"sub-sequence", 1, 2, 0);
	trans[0][11]	= settr(10,2,19,15,15,"o = (1-s)", 1, 2, 0); /* m: 12 -> 0,19 */
	reached0[12] = 1;
	trans[0][12]	= settr(0,0,0,0,0,"e = (epoch[s]-1)",0,0,0);
	T = trans[0][19] = settr(18,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(18,2,13,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(18,2,18,0,0,"IF", 1, 2, 0);
	trans[0][13]	= settr(12,2,58,16,16,"((e!=chain[s]))", 1, 2, 0); /* m: 14 -> 58,0 */
	reached0[14] = 1;
	trans[0][14]	= settr(0,0,0,0,0,"assert((e>chain[s]))",0,0,0);
	trans[0][15]	= settr(0,0,0,0,0,"chain[s] = e",0,0,0);
	trans[0][16]	= settr(0,0,0,0,0,"number[s] = 0",0,0,0);
	trans[0][17]	= settr(0,0,0,0,0,"used[s] = 0",0,0,0);
	trans[0][20]	= settr(19,2,21,1,0,".(goto)", 1, 2, 0); /* m: 21 -> 0,58 */
	reached0[21] = 1;
	trans[0][18]	= settr(17,2,21,2,0,"else", 1, 2, 0);
	trans[0][21]	= settr(20,2,58,17,17,"assert((number[s]==used[s]))", 1, 2, 0); /* m: 22 -> 0,58 */
	reached0[22] = 1;
	trans[0][22]	= settr(0,0,0,0,0,"number[s] = ( ((number[s]<2)) -> ((number[s]+1)) : (2) )",0,0,0);
	trans[0][23]	= settr(0,0,0,0,0,"used[s] = ( ((used[s]<2)) -> ((used[s]+1)) : (2) )",0,0,0);
	T = trans[0][58] = settr(57,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,24,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,28,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,30,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,32,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,34,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,36,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,38,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,52,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(57,2,54,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(57,2,56,0,0,"IF", 1, 2, 0);
	trans[0][24]	= settr(23,2,63,18,18,"((state[s]==0))", 1, 2, 0); /* m: 25 -> 63,0 */
	reached0[25] = 1;
	trans[0][25]	= settr(0,0,0,0,0,"pair[s] = ((2*epoch[s])+s)",0,0,0);
	trans[0][26]	= settr(0,0,0,0,0,"state[s] = 1",0,0,0);
	trans[0][27]	= settr(0,0,0,0,0,"k = 1",0,0,0);
	trans[0][59]	= settr(58,2,63,1,0,".(goto)", 1, 2, 0);
	trans[0][28]	= settr(27,2,63,19,19,"((state[s]==1))", 1, 2, 0); /* m: 29 -> 63,0 */
	reached0[29] = 1;
	trans[0][29]	= settr(0,0,0,0,0,"k = 1",0,0,0);
	trans[0][30]	= settr(29,2,63,20,20,"((state[s]==2))", 1, 2, 0); /* m: 31 -> 63,0 */
	reached0[31] = 1;
	trans[0][31]	= settr(0,0,0,0,0,"k = 2",0,0,0);
	trans[0][32]	= settr(31,2,63,21,21,"((state[s]==3))", 1, 2, 0); /* m: 33 -> 63,0 */
	reached0[33] = 1;
	trans[0][33]	= settr(0,0,0,0,0,"k = 3",0,0,0);
	trans[0][34]	= settr(33,2,63,22,22,"((state[s]==4))", 1, 2, 0); /* m: 35 -> 63,0 */
	reached0[35] = 1;
	trans[0][35]	= settr(0,0,0,0,0,"k = 4",0,0,0);
	trans[0][36]	= settr(35,2,63,23,23,"((state[s]==5))", 1, 2, 0); /* m: 37 -> 63,0 */
	reached0[37] = 1;
	trans[0][37]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][38]	= settr(37,2,48,24,0,"((state[s]==6))", 1, 2, 0);
	T = trans[ 0][48] = settr(47,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(47,0,39,0,0,"sub-sequence", 1, 2, 0);
	trans[0][39]	= settr(38,2,45,25,25,"assert((epoch[s]==(have[s]+1)))", 1, 2, 0); /* m: 40 -> 0,45 */
	reached0[40] = 1;
	trans[0][40]	= settr(0,0,0,0,0,"have[s] = epoch[s]",0,0,0);
	T = trans[0][45] = settr(44,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(44,2,41,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(44,2,43,0,0,"IF", 1, 2, 0);
	trans[0][41]	= settr(40,2,63,26,26,"((s==0))", 1, 2, 0); /* m: 42 -> 63,0 */
	reached0[42] = 1;
	trans[0][42]	= settr(0,0,0,0,0,"key0[epoch[s]] = pair[s]",0,0,0);
	trans[0][46]	= settr(45,2,47,1,0,".(goto)", 1, 2, 0); /* m: 47 -> 0,63 */
	reached0[47] = 1;
	trans[0][43]	= settr(42,2,44,2,0,"else", 1, 2, 0);
	trans[0][44]	= settr(43,2,63,27,27,"key1[epoch[s]] = pair[s]", 1, 2, 0); /* m: 47 -> 0,63 */
	reached0[47] = 1;
	trans[0][47]	= settr(46,2,63,28,28,"assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))", 1, 2, 0); /* m: 49 -> 0,63 */
	reached0[49] = 1;
	trans[0][49]	= settr(0,0,0,0,0,"state[s] = 7",0,0,0);
	trans[0][50]	= settr(0,0,0,0,0,"got[s] = 0",0,0,0);
	trans[0][51]	= settr(0,0,0,0,0,"k = 5",0,0,0);
	trans[0][52]	= settr(51,2,63,29,29,"(((state[s]==7)||(state[s]==8)))", 1, 2, 0); /* m: 53 -> 63,0 */
	reached0[53] = 1;
	trans[0][53]	= settr(0,0,0,0,0,"k = 5",0,0,0);
	trans[0][54]	= settr(53,2,63,30,30,"((state[s]==9))", 1, 2, 0); /* m: 55 -> 63,0 */
	reached0[55] = 1;
	trans[0][55]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][56]	= settr(55,2,63,31,31,"((state[s]==10))", 1, 2, 0); /* m: 57 -> 63,0 */
	reached0[57] = 1;
	trans[0][57]	= settr(0,0,0,0,0,"k = 6",0,0,0);
	T = trans[0][63] = settr(62,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(62,2,60,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(62,2,62,0,0,"IF", 1, 2, 0);
	trans[0][60]	= settr(59,0,529,32,32,"((sent[((((s*(4+2))+epoch[s])*7)+k)]<2))", 1, 2, 0); /* m: 61 -> 529,0 */
	reached0[61] = 1;
	trans[0][61]	= settr(0,0,0,0,0,"sent[((((s*(4+2))+epoch[s])*7)+k)] = (sent[((((s*(4+2))+epoch[s])*7)+k)]+1)",0,0,0);
	trans[0][64]	= settr(63,2,69,1,0,".(goto)", 1, 2, 0); /* m: 69 -> 0,529 */
	reached0[69] = 1;
	trans[0][62]	= settr(61,2,69,2,0,"else", 1, 2, 0);
	trans[0][68]	= settr(67,2,69,1,0,".(goto)", 1, 2, 0); /* m: 69 -> 0,529 */
	reached0[69] = 1;
	trans[0][66]	= settr(65,2,69,2,0,"else", 1, 2, 0);
	trans[0][69]	= settr(68,0,529,33,33,"s = 0", 1, 2, 0); /* m: 70 -> 0,529 */
	reached0[70] = 1;
	trans[0][70]	= settr(0,0,0,0,0,"o = 0",0,0,0);
	trans[0][71]	= settr(0,0,0,0,0,"e = 0",0,0,0);
	trans[0][72]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][73]	= settr(0,0,0,0,0,"isnew = 0",0,0,0);
	T = trans[ 0][322] = settr(321,2,0,0,0,"ATOMIC", 1, 2, 0);
	T->nxt	= settr(321,2,75,0,0,"ATOMIC", 1, 2, 0);
	trans[0][75]	= settr(74,2,80,34,34,"(!(((epoch[0]>4)&&(epoch[1]>4))))", 1, 2, 0); /* m: 76 -> 80,0 */
	reached0[76] = 1;
	trans[0][76]	= settr(0,0,0,0,0,"fresh0 = 0",0,0,0);
	trans[0][77]	= settr(0,0,0,0,0,"fresh1 = 0",0,0,0);
	T = trans[0][80] = settr(79,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(79,2,78,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(79,2,79,0,0,"IF", 1, 2, 0);
	trans[0][78]	= settr(77,2,309,35,35,"s = 0", 1, 2, 0);
	trans[0][81]	= settr(80,2,309,1,0,".(goto)", 1, 2, 0);
	trans[0][79]	= settr(78,2,309,36,36,"s = 1", 1, 2, 0);
	T = trans[0][309] = settr(308,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(308,2,82,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(308,2,308,0,0,"IF", 1, 2, 0);
	trans[0][82]	= settr(81,2,137,37,0,"((epoch[s]<=4))", 1, 2, 0);
	T = trans[ 0][137] = settr(136,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(136,0,83,0,0,"sub-sequence", 1, 2, 0);
	trans[0][83]	= settr(82,2,91,38,38,"o = (1-s)", 1, 2, 0); /* m: 84 -> 0,91 */
	reached0[84] = 1;
	trans[0][84]	= settr(0,0,0,0,0,"e = (epoch[s]-1)",0,0,0);
	T = trans[0][91] = settr(90,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(90,2,85,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(90,2,90,0,0,"IF", 1, 2, 0);
	trans[0][85]	= settr(84,2,130,39,39,"((e!=chain[s]))", 1, 2, 0); /* m: 86 -> 130,0 */
	reached0[86] = 1;
	trans[0][86]	= settr(0,0,0,0,0,"assert((e>chain[s]))",0,0,0);
	trans[0][87]	= settr(0,0,0,0,0,"chain[s] = e",0,0,0);
	trans[0][88]	= settr(0,0,0,0,0,"number[s] = 0",0,0,0);
	trans[0][89]	= settr(0,0,0,0,0,"used[s] = 0",0,0,0);
	trans[0][92]	= settr(91,2,93,1,0,".(goto)", 1, 2, 0); /* m: 93 -> 0,130 */
	reached0[93] = 1;
	trans[0][90]	= settr(89,2,93,2,0,"else", 1, 2, 0);
	trans[0][93]	= settr(92,2,130,40,40,"assert((number[s]==used[s]))", 1, 2, 0); /* m: 94 -> 0,130 */
	reached0[94] = 1;
	trans[0][94]	= settr(0,0,0,0,0,"number[s] = ( ((number[s]<2)) -> ((number[s]+1)) : (2) )",0,0,0);
	trans[0][95]	= settr(0,0,0,0,0,"used[s] = ( ((used[s]<2)) -> ((used[s]+1)) : (2) )",0,0,0);
	T = trans[0][130] = settr(129,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,96,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,100,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,102,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,104,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,106,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,108,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,110,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,124,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(129,2,126,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(129,2,128,0,0,"IF", 1, 2, 0);
	trans[0][96]	= settr(95,2,135,41,41,"((state[s]==0))", 1, 2, 0); /* m: 97 -> 135,0 */
	reached0[97] = 1;
	trans[0][97]	= settr(0,0,0,0,0,"pair[s] = ((2*epoch[s])+s)",0,0,0);
	trans[0][98]	= settr(0,0,0,0,0,"state[s] = 1",0,0,0);
	trans[0][99]	= settr(0,0,0,0,0,"k = 1",0,0,0);
	trans[0][131]	= settr(130,2,135,1,0,".(goto)", 1, 2, 0);
	trans[0][100]	= settr(99,2,135,42,42,"((state[s]==1))", 1, 2, 0); /* m: 101 -> 135,0 */
	reached0[101] = 1;
	trans[0][101]	= settr(0,0,0,0,0,"k = 1",0,0,0);
	trans[0][102]	= settr(101,2,135,43,43,"((state[s]==2))", 1, 2, 0); /* m: 103 -> 135,0 */
	reached0[103] = 1;
	trans[0][103]	= settr(0,0,0,0,0,"k = 2",0,0,0);
	trans[0][104]	= settr(103,2,135,44,44,"((state[s]==3))", 1, 2, 0); /* m: 105 -> 135,0 */
	reached0[105] = 1;
	trans[0][105]	= settr(0,0,0,0,0,"k = 3",0,0,0);
	trans[0][106]	= settr(105,2,135,45,45,"((state[s]==4))", 1, 2, 0); /* m: 107 -> 135,0 */
	reached0[107] = 1;
	trans[0][107]	= settr(0,0,0,0,0,"k = 4",0,0,0);
	trans[0][108]	= settr(107,2,135,46,46,"((state[s]==5))", 1, 2, 0); /* m: 109 -> 135,0 */
	reached0[109] = 1;
	trans[0][109]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][110]	= settr(109,2,120,47,0,"((state[s]==6))", 1, 2, 0);
	T = trans[ 0][120] = settr(119,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(119,0,111,0,0,"sub-sequence", 1, 2, 0);
	trans[0][111]	= settr(110,2,117,48,48,"assert((epoch[s]==(have[s]+1)))", 1, 2, 0); /* m: 112 -> 0,117 */
	reached0[112] = 1;
	trans[0][112]	= settr(0,0,0,0,0,"have[s] = epoch[s]",0,0,0);
	T = trans[0][117] = settr(116,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(116,2,113,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(116,2,115,0,0,"IF", 1, 2, 0);
	trans[0][113]	= settr(112,2,135,49,49,"((s==0))", 1, 2, 0); /* m: 114 -> 135,0 */
	reached0[114] = 1;
	trans[0][114]	= settr(0,0,0,0,0,"key0[epoch[s]] = pair[s]",0,0,0);
	trans[0][118]	= settr(117,2,119,1,0,".(goto)", 1, 2, 0); /* m: 119 -> 0,135 */
	reached0[119] = 1;
	trans[0][115]	= settr(114,2,116,2,0,"else", 1, 2, 0);
	trans[0][116]	= settr(115,2,135,50,50,"key1[epoch[s]] = pair[s]", 1, 2, 0); /* m: 119 -> 0,135 */
	reached0[119] = 1;
	trans[0][119]	= settr(118,2,135,51,51,"assert((((have[0]<epoch[s])||(have[1]<epoch[s]))||(key0[epoch[s]]==key1[epoch[s]])))", 1, 2, 0); /* m: 121 -> 0,135 */
	reached0[121] = 1;
	trans[0][121]	= settr(0,0,0,0,0,"state[s] = 7",0,0,0);
	trans[0][122]	= settr(0,0,0,0,0,"got[s] = 0",0,0,0);
	trans[0][123]	= settr(0,0,0,0,0,"k = 5",0,0,0);
	trans[0][124]	= settr(123,2,135,52,52,"(((state[s]==7)||(state[s]==8)))", 1, 2, 0); /* m: 125 -> 135,0 */
	reached0[125] = 1;
	trans[0][125]	= settr(0,0,0,0,0,"k = 5",0,0,0);
	trans[0][126]	= settr(125,2,135,53,53,"((state[s]==9))", 1, 2, 0); /* m: 127 -> 135,0 */
	reached0[127] = 1;
	trans[0][127]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][128]	= settr(127,2,135,54,54,"((state[s]==10))", 1, 2, 0); /* m: 129 -> 135,0 */
	reached0[129] = 1;
	trans[0][129]	= settr(0,0,0,0,0,"k = 6",0,0,0);
	T = trans[0][135] = settr(134,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(134,2,132,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(134,2,134,0,0,"IF", 1, 2, 0);
	trans[0][132]	= settr(131,2,307,55,55,"((sent[((((s*(4+2))+epoch[s])*7)+k)]<2))", 1, 2, 0); /* m: 133 -> 307,0 */
	reached0[133] = 1;
	trans[0][133]	= settr(0,0,0,0,0,"sent[((((s*(4+2))+epoch[s])*7)+k)] = (sent[((((s*(4+2))+epoch[s])*7)+k)]+1)",0,0,0);
	trans[0][136]	= settr(135,2,138,1,0,".(goto)", 1, 2, 0); /* m: 138 -> 0,307 */
	reached0[138] = 1;
	trans[0][134]	= settr(133,2,138,2,0,"else", 1, 2, 0);
	trans[0][138]	= settr(137,2,307,56,56,"e = epoch[s]", 1, 2, 0); /* m: 139 -> 0,307 */
	reached0[139] = 1;
	trans[0][139]	= settr(0,0,0,0,0,"isnew = 1",0,0,0);
	T = trans[ 0][307] = settr(306,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(306,0,140,0,0,"sub-sequence", 1, 2, 0);
	trans[0][140]	= settr(139,2,151,57,57,"assert(((e-1)<=have[o]))", 1, 2, 0); /* m: 141 -> 0,151 */
	reached0[141] = 1;
	trans[0][141]	= settr(0,0,0,0,0,"assert((e<=(epoch[o]+1)))",0,0,0);
	T = trans[0][151] = settr(150,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(150,2,142,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(150,2,150,0,0,"IF", 1, 2, 0);
	trans[0][142]	= settr(141,2,149,58,58,"((e==(epoch[o]+1)))", 1, 2, 0); /* m: 143 -> 149,0 */
	reached0[143] = 1;
	trans[0][143]	= settr(0,0,0,0,0,"assert((state[o]==10))",0,0,0);
	T = trans[ 0][149] = settr(148,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(148,0,144,0,0,"sub-sequence", 1, 2, 0);
	trans[0][144]	= settr(143,2,304,59,59,"epoch[o] = (epoch[o]+1)", 1, 2, 0); /* m: 145 -> 0,304 */
	reached0[145] = 1;
	trans[0][145]	= settr(0,0,0,0,0,"state[o] = 0",0,0,0);
	trans[0][146]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	trans[0][147]	= settr(0,0,0,0,0,"mixed[o] = 0",0,0,0);
	trans[0][148]	= settr(0,0,0,0,0,"pair[o] = 0",0,0,0);
	trans[0][152]	= settr(151,2,304,1,0,".(goto)", 1, 2, 0);
	trans[0][150]	= settr(149,2,304,2,0,"else", 1, 2, 0);
	T = trans[0][304] = settr(303,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(303,2,153,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(303,2,303,0,0,"IF", 1, 2, 0);
	trans[0][153]	= settr(152,2,170,60,0,"((e==epoch[o]))", 1, 2, 0);
	T = trans[0][170] = settr(169,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(169,2,154,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(169,2,169,0,0,"IF", 1, 2, 0);
	trans[0][154]	= settr(153,2,167,61,61,"(((state[o]==1)&&(k==5)))", 1, 2, 0); /* m: 155 -> 167,0 */
	reached0[155] = 1;
	trans[0][155]	= settr(0,0,0,0,0,"state[o] = 2",0,0,0);
	trans[0][156]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	T = trans[ 0][167] = settr(166,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(166,0,160,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][160] = settr(159,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(159,2,157,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(159,2,159,0,0,"IF", 1, 2, 0);
	trans[0][157]	= settr(156,2,165,62,62,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 158 -> 165,0 */
	reached0[158] = 1;
	trans[0][158]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][161]	= settr(160,2,165,1,0,".(goto)", 1, 2, 0);
	trans[0][159]	= settr(158,2,165,2,0,"else", 1, 2, 0);
	T = trans[0][165] = settr(164,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(164,2,162,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(164,2,164,0,0,"IF", 1, 2, 0);
	trans[0][162]	= settr(161,2,301,63,63,"((e!=epoch[o]))", 1, 2, 0); /* m: 163 -> 301,0 */
	reached0[163] = 1;
	trans[0][163]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][166]	= settr(165,2,168,1,0,".(goto)", 1, 2, 0); /* m: 168 -> 0,301 */
	reached0[168] = 1;
	trans[0][164]	= settr(163,2,168,2,0,"else", 1, 2, 0);
	trans[0][168]	= settr(167,2,301,64,64,"isnew = 0", 1, 2, 0);
	trans[0][171]	= settr(170,2,301,1,0,".(goto)", 1, 2, 0);
	trans[0][169]	= settr(168,2,301,2,0,"else", 1, 2, 0);
	T = trans[0][301] = settr(300,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,172,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,190,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,204,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,237,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,257,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,280,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(300,2,282,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(300,2,300,0,0,"IF", 1, 2, 0);
	trans[0][172]	= settr(171,2,183,65,0,"(((state[o]==2)&&(k==5)))", 1, 2, 0);
	T = trans[ 0][183] = settr(182,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(182,0,176,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][176] = settr(175,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(175,2,173,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(175,2,175,0,0,"IF", 1, 2, 0);
	trans[0][173]	= settr(172,2,181,66,66,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 174 -> 181,0 */
	reached0[174] = 1;
	trans[0][174]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][177]	= settr(176,2,181,1,0,".(goto)", 1, 2, 0);
	trans[0][175]	= settr(174,2,181,2,0,"else", 1, 2, 0);
	T = trans[0][181] = settr(180,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(180,2,178,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(180,2,180,0,0,"IF", 1, 2, 0);
	trans[0][178]	= settr(177,2,188,67,67,"((e!=epoch[o]))", 1, 2, 0); /* m: 179 -> 188,0 */
	reached0[179] = 1;
	trans[0][179]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][182]	= settr(181,2,188,1,0,".(goto)", 1, 2, 0);
	trans[0][180]	= settr(179,2,188,2,0,"else", 1, 2, 0);
	T = trans[0][188] = settr(187,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(187,2,184,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(187,2,187,0,0,"IF", 1, 2, 0);
	trans[0][184]	= settr(183,2,315,68,68,"((got[o]==2))", 1, 2, 0); /* m: 185 -> 315,0 */
	reached0[185] = 1;
	trans[0][185]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][186]	= settr(0,0,0,0,0,"state[o] = 3",0,0,0);
	trans[0][189]	= settr(188,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][187]	= settr(186,2,306,2,0,"else", 1, 2, 0);
	trans[0][302]	= settr(301,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][190]	= settr(189,2,203,69,69,"(((state[o]==3)&&(k==6)))", 1, 2, 0); /* m: 191 -> 203,0 */
	reached0[191] = 1;
	trans[0][191]	= settr(0,0,0,0,0,"state[o] = 4",0,0,0);
	trans[0][192]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	T = trans[ 0][203] = settr(202,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(202,0,196,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][196] = settr(195,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(195,2,193,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(195,2,195,0,0,"IF", 1, 2, 0);
	trans[0][193]	= settr(192,2,201,70,70,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 194 -> 201,0 */
	reached0[194] = 1;
	trans[0][194]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][197]	= settr(196,2,201,1,0,".(goto)", 1, 2, 0);
	trans[0][195]	= settr(194,2,201,2,0,"else", 1, 2, 0);
	T = trans[0][201] = settr(200,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(200,2,198,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(200,2,200,0,0,"IF", 1, 2, 0);
	trans[0][198]	= settr(197,2,315,71,71,"((e!=epoch[o]))", 1, 2, 0); /* m: 199 -> 315,0 */
	reached0[199] = 1;
	trans[0][199]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][202]	= settr(201,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][200]	= settr(199,2,306,2,0,"else", 1, 2, 0);
	trans[0][204]	= settr(203,2,215,72,0,"(((state[o]==4)&&(k==6)))", 1, 2, 0);
	T = trans[ 0][215] = settr(214,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(214,0,208,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][208] = settr(207,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(207,2,205,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(207,2,207,0,0,"IF", 1, 2, 0);
	trans[0][205]	= settr(204,2,213,73,73,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 206 -> 213,0 */
	reached0[206] = 1;
	trans[0][206]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][209]	= settr(208,2,213,1,0,".(goto)", 1, 2, 0);
	trans[0][207]	= settr(206,2,213,2,0,"else", 1, 2, 0);
	T = trans[0][213] = settr(212,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(212,2,210,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(212,2,212,0,0,"IF", 1, 2, 0);
	trans[0][210]	= settr(209,2,235,74,74,"((e!=epoch[o]))", 1, 2, 0); /* m: 211 -> 235,0 */
	reached0[211] = 1;
	trans[0][211]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][214]	= settr(213,2,235,1,0,".(goto)", 1, 2, 0);
	trans[0][212]	= settr(211,2,235,2,0,"else", 1, 2, 0);
	T = trans[0][235] = settr(234,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(234,2,216,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(234,2,234,0,0,"IF", 1, 2, 0);
	trans[0][216]	= settr(215,2,227,75,75,"((got[o]==2))", 1, 2, 0); /* m: 217 -> 227,0 */
	reached0[217] = 1;
	trans[0][217]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	T = trans[ 0][227] = settr(226,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(226,0,218,0,0,"sub-sequence", 1, 2, 0);
	trans[0][218]	= settr(217,2,224,76,76,"assert((epoch[o]==(have[o]+1)))", 1, 2, 0); /* m: 219 -> 0,224 */
	reached0[219] = 1;
	trans[0][219]	= settr(0,0,0,0,0,"have[o] = epoch[o]",0,0,0);
	T = trans[0][224] = settr(223,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(223,2,220,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(223,2,222,0,0,"IF", 1, 2, 0);
	trans[0][220]	= settr(219,2,233,77,77,"((o==0))", 1, 2, 0); /* m: 221 -> 233,0 */
	reached0[221] = 1;
	trans[0][221]	= settr(0,0,0,0,0,"key0[epoch[o]] = pair[o]",0,0,0);
	trans[0][225]	= settr(224,2,226,1,0,".(goto)", 1, 2, 0); /* m: 226 -> 0,233 */
	reached0[226] = 1;
	trans[0][222]	= settr(221,2,223,2,0,"else", 1, 2, 0);
	trans[0][223]	= settr(222,2,233,78,78,"key1[epoch[o]] = pair[o]", 1, 2, 0); /* m: 226 -> 0,233 */
	reached0[226] = 1;
	trans[0][226]	= settr(225,2,233,79,79,"assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))", 1, 2, 0);
	T = trans[ 0][233] = settr(232,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(232,0,228,0,0,"sub-sequence", 1, 2, 0);
	trans[0][228]	= settr(227,2,315,80,80,"epoch[o] = (epoch[o]+1)", 1, 2, 0); /* m: 229 -> 0,315 */
	reached0[229] = 1;
	trans[0][229]	= settr(0,0,0,0,0,"state[o] = 5",0,0,0);
	trans[0][230]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	trans[0][231]	= settr(0,0,0,0,0,"mixed[o] = 0",0,0,0);
	trans[0][232]	= settr(0,0,0,0,0,"pair[o] = 0",0,0,0);
	trans[0][236]	= settr(235,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][234]	= settr(233,2,306,2,0,"else", 1, 2, 0);
	trans[0][237]	= settr(236,2,248,81,0,"(((state[o]==5)&&(k==1)))", 1, 2, 0);
	T = trans[ 0][248] = settr(247,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(247,0,241,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][241] = settr(240,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(240,2,238,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(240,2,240,0,0,"IF", 1, 2, 0);
	trans[0][238]	= settr(237,2,246,82,82,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 239 -> 246,0 */
	reached0[239] = 1;
	trans[0][239]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][242]	= settr(241,2,246,1,0,".(goto)", 1, 2, 0);
	trans[0][240]	= settr(239,2,246,2,0,"else", 1, 2, 0);
	T = trans[0][246] = settr(245,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(245,2,243,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(245,2,245,0,0,"IF", 1, 2, 0);
	trans[0][243]	= settr(242,2,255,83,83,"((e!=epoch[o]))", 1, 2, 0); /* m: 244 -> 255,0 */
	reached0[244] = 1;
	trans[0][244]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][247]	= settr(246,2,255,1,0,".(goto)", 1, 2, 0);
	trans[0][245]	= settr(244,2,255,2,0,"else", 1, 2, 0);
	T = trans[0][255] = settr(254,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(254,2,249,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(254,2,254,0,0,"IF", 1, 2, 0);
	trans[0][249]	= settr(248,2,315,84,84,"((got[o]==2))", 1, 2, 0); /* m: 250 -> 315,0 */
	reached0[250] = 1;
	trans[0][250]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][251]	= settr(0,0,0,0,0,"pair[o] = ((2*e)+s)",0,0,0);
	trans[0][252]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	trans[0][253]	= settr(0,0,0,0,0,"state[o] = 6",0,0,0);
	trans[0][256]	= settr(255,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][254]	= settr(253,2,306,2,0,"else", 1, 2, 0);
	trans[0][257]	= settr(256,2,268,85,0,"(((state[o]==7)&&((k==2)||(k==3))))", 1, 2, 0);
	T = trans[ 0][268] = settr(267,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(267,0,261,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][261] = settr(260,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(260,2,258,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(260,2,260,0,0,"IF", 1, 2, 0);
	trans[0][258]	= settr(257,2,266,86,86,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 259 -> 266,0 */
	reached0[259] = 1;
	trans[0][259]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][262]	= settr(261,2,266,1,0,".(goto)", 1, 2, 0);
	trans[0][260]	= settr(259,2,266,2,0,"else", 1, 2, 0);
	T = trans[0][266] = settr(265,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(265,2,263,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(265,2,265,0,0,"IF", 1, 2, 0);
	trans[0][263]	= settr(262,2,278,87,87,"((e!=epoch[o]))", 1, 2, 0); /* m: 264 -> 278,0 */
	reached0[264] = 1;
	trans[0][264]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][267]	= settr(266,2,278,1,0,".(goto)", 1, 2, 0);
	trans[0][265]	= settr(264,2,278,2,0,"else", 1, 2, 0);
	T = trans[0][278] = settr(277,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(277,2,269,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(277,2,272,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(277,2,275,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(277,2,277,0,0,"IF", 1, 2, 0);
	trans[0][269]	= settr(268,2,315,88,88,"(((got[o]==2)&&(k==3)))", 1, 2, 0); /* m: 270 -> 315,0 */
	reached0[270] = 1;
	trans[0][270]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][271]	= settr(0,0,0,0,0,"state[o] = 10",0,0,0);
	trans[0][279]	= settr(278,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][272]	= settr(271,2,315,89,89,"(((got[o]==2)&&(k==2)))", 1, 2, 0); /* m: 273 -> 315,0 */
	reached0[273] = 1;
	trans[0][273]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][274]	= settr(0,0,0,0,0,"state[o] = 8",0,0,0);
	trans[0][275]	= settr(274,2,315,90,90,"(((got[o]<2)&&(k==3)))", 1, 2, 0); /* m: 276 -> 315,0 */
	reached0[276] = 1;
	trans[0][276]	= settr(0,0,0,0,0,"state[o] = 9",0,0,0);
	trans[0][277]	= settr(276,2,315,91,91,"(((got[o]<2)&&(k==2)))", 1, 2, 0); /* m: 306 -> 315,0 */
	reached0[306] = 1;
	trans[0][280]	= settr(279,2,315,92,92,"(((state[o]==8)&&((k==3)||(k==4))))", 1, 2, 0); /* m: 281 -> 315,0 */
	reached0[281] = 1;
	trans[0][281]	= settr(0,0,0,0,0,"state[o] = 10",0,0,0);
	trans[0][282]	= settr(281,2,293,93,0,"(((state[o]==9)&&((k==2)||(k==3))))", 1, 2, 0);
	T = trans[ 0][293] = settr(292,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(292,0,286,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][286] = settr(285,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(285,2,283,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(285,2,285,0,0,"IF", 1, 2, 0);
	trans[0][283]	= settr(282,2,291,94,94,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 284 -> 291,0 */
	reached0[284] = 1;
	trans[0][284]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][287]	= settr(286,2,291,1,0,".(goto)", 1, 2, 0);
	trans[0][285]	= settr(284,2,291,2,0,"else", 1, 2, 0);
	T = trans[0][291] = settr(290,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(290,2,288,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(290,2,290,0,0,"IF", 1, 2, 0);
	trans[0][288]	= settr(287,2,298,95,95,"((e!=epoch[o]))", 1, 2, 0); /* m: 289 -> 298,0 */
	reached0[289] = 1;
	trans[0][289]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][292]	= settr(291,2,298,1,0,".(goto)", 1, 2, 0);
	trans[0][290]	= settr(289,2,298,2,0,"else", 1, 2, 0);
	T = trans[0][298] = settr(297,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(297,2,294,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(297,2,297,0,0,"IF", 1, 2, 0);
	trans[0][294]	= settr(293,2,315,96,96,"((got[o]==2))", 1, 2, 0); /* m: 295 -> 315,0 */
	reached0[295] = 1;
	trans[0][295]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][296]	= settr(0,0,0,0,0,"state[o] = 10",0,0,0);
	trans[0][299]	= settr(298,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][297]	= settr(296,2,306,2,0,"else", 1, 2, 0);
	trans[0][300]	= settr(299,2,306,2,0,"else", 1, 2, 0);
	trans[0][305]	= settr(304,2,306,1,0,".(goto)", 1, 2, 0); /* m: 306 -> 0,315 */
	reached0[306] = 1;
	trans[0][303]	= settr(302,2,306,2,0,"else", 1, 2, 0);
	trans[0][306]	= settr(305,2,315,97,97,"assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))", 1, 2, 0);
	trans[0][310]	= settr(309,2,315,1,0,".(goto)", 1, 2, 0);
	trans[0][308]	= settr(307,2,315,2,0,"else", 1, 2, 0);
	T = trans[0][315] = settr(314,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(314,2,311,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(314,2,313,0,0,"IF", 1, 2, 0);
	trans[0][311]	= settr(310,0,529,98,98,"((s==0))", 1, 2, 0); /* m: 312 -> 529,0 */
	reached0[312] = 1;
	trans[0][312]	= settr(0,0,0,0,0,"fresh0 = 1",0,0,0);
	trans[0][316]	= settr(315,2,317,1,0,".(goto)", 1, 2, 0); /* m: 317 -> 0,529 */
	reached0[317] = 1;
	trans[0][313]	= settr(312,2,314,2,0,"else", 1, 2, 0);
	trans[0][314]	= settr(313,0,529,99,99,"fresh1 = 1", 1, 2, 0); /* m: 317 -> 0,529 */
	reached0[317] = 1;
	trans[0][317]	= settr(316,0,529,100,100,"s = 0", 1, 2, 0); /* m: 318 -> 0,529 */
	reached0[318] = 1;
	trans[0][318]	= settr(0,0,0,0,0,"o = 0",0,0,0);
	trans[0][319]	= settr(0,0,0,0,0,"e = 0",0,0,0);
	trans[0][320]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][321]	= settr(0,0,0,0,0,"isnew = 0",0,0,0);
	T = trans[ 0][528] = settr(527,2,0,0,0,"ATOMIC", 1, 2, 0);
	T->nxt	= settr(527,2,323,0,0,"ATOMIC", 1, 2, 0);
	trans[0][323]	= settr(322,2,328,101,101,"(!(((epoch[0]>4)&&(epoch[1]>4))))", 1, 2, 0); /* m: 324 -> 328,0 */
	reached0[324] = 1;
	trans[0][324]	= settr(0,0,0,0,0,"fresh0 = 0",0,0,0);
	trans[0][325]	= settr(0,0,0,0,0,"fresh1 = 0",0,0,0);
	T = trans[0][328] = settr(327,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(327,2,326,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(327,2,327,0,0,"IF", 1, 2, 0);
	trans[0][326]	= settr(325,2,335,102,102,"s = 0", 1, 2, 0); /* m: 330 -> 0,335 */
	reached0[330] = 1;
	trans[0][329]	= settr(328,2,330,1,0,".(goto)", 1, 2, 0); /* m: 330 -> 0,335 */
	reached0[330] = 1;
	trans[0][327]	= settr(326,2,335,103,103,"s = 1", 1, 2, 0); /* m: 330 -> 0,335 */
	reached0[330] = 1;
	trans[0][330]	= settr(329,2,335,104,104,"o = (1-s)", 1, 2, 0);
	T = trans[0][335] = settr(334,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(334,2,331,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(334,2,332,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(334,2,333,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(334,2,334,0,0,"IF", 1, 2, 0);
	trans[0][331]	= settr(330,2,344,105,105,"e = 1", 1, 2, 0);
	trans[0][336]	= settr(335,2,344,1,0,".(goto)", 1, 2, 0);
	trans[0][332]	= settr(331,2,344,106,106,"e = 2", 1, 2, 0);
	trans[0][333]	= settr(332,2,344,107,107,"e = 3", 1, 2, 0);
	trans[0][334]	= settr(333,2,344,108,108,"e = 4", 1, 2, 0);
	T = trans[0][344] = settr(343,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(343,2,337,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(343,2,338,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(343,2,339,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(343,2,340,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(343,2,341,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(343,2,342,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(343,2,343,0,0,"IF", 1, 2, 0);
	trans[0][337]	= settr(336,2,521,109,109,"k = 0", 1, 2, 0);
	trans[0][345]	= settr(344,2,521,1,0,".(goto)", 1, 2, 0);
	trans[0][338]	= settr(337,2,521,110,110,"k = 1", 1, 2, 0);
	trans[0][339]	= settr(338,2,521,111,111,"k = 2", 1, 2, 0);
	trans[0][340]	= settr(339,2,521,112,112,"k = 3", 1, 2, 0);
	trans[0][341]	= settr(340,2,521,113,113,"k = 4", 1, 2, 0);
	trans[0][342]	= settr(341,2,521,114,114,"k = 5", 1, 2, 0);
	trans[0][343]	= settr(342,2,521,115,115,"k = 6", 1, 2, 0);
	T = trans[0][521] = settr(520,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(520,2,346,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(520,2,520,0,0,"IF", 1, 2, 0);
	trans[0][346]	= settr(345,2,350,116,0,"((sent[((((s*(4+2))+e)*7)+k)]>0))", 1, 2, 0);
	T = trans[0][350] = settr(349,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(349,2,347,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(349,2,349,0,0,"IF", 1, 2, 0);
	trans[0][347]	= settr(346,2,519,117,117,"(((((got[o]<sent[((((s*(4+2))+e)*7)+k)])||(state[o]==1))||(state[o]==3))||(k==3)))", 1, 2, 0); /* m: 348 -> 519,0 */
	reached0[348] = 1;
	trans[0][348]	= settr(0,0,0,0,0,"isnew = 1",0,0,0);
	trans[0][351]	= settr(350,2,519,1,0,".(goto)", 1, 2, 0);
	trans[0][349]	= settr(348,2,519,118,118,"isnew = 0", 1, 2, 0);
	T = trans[ 0][519] = settr(518,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(518,0,352,0,0,"sub-sequence", 1, 2, 0);
	trans[0][352]	= settr(351,2,363,119,119,"assert(((e-1)<=have[o]))", 1, 2, 0); /* m: 353 -> 0,363 */
	reached0[353] = 1;
	trans[0][353]	= settr(0,0,0,0,0,"assert((e<=(epoch[o]+1)))",0,0,0);
	T = trans[0][363] = settr(362,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(362,2,354,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(362,2,362,0,0,"IF", 1, 2, 0);
	trans[0][354]	= settr(353,2,361,120,120,"((e==(epoch[o]+1)))", 1, 2, 0); /* m: 355 -> 361,0 */
	reached0[355] = 1;
	trans[0][355]	= settr(0,0,0,0,0,"assert((state[o]==10))",0,0,0);
	T = trans[ 0][361] = settr(360,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(360,0,356,0,0,"sub-sequence", 1, 2, 0);
	trans[0][356]	= settr(355,2,516,121,121,"epoch[o] = (epoch[o]+1)", 1, 2, 0); /* m: 357 -> 0,516 */
	reached0[357] = 1;
	trans[0][357]	= settr(0,0,0,0,0,"state[o] = 0",0,0,0);
	trans[0][358]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	trans[0][359]	= settr(0,0,0,0,0,"mixed[o] = 0",0,0,0);
	trans[0][360]	= settr(0,0,0,0,0,"pair[o] = 0",0,0,0);
	trans[0][364]	= settr(363,2,516,1,0,".(goto)", 1, 2, 0);
	trans[0][362]	= settr(361,2,516,2,0,"else", 1, 2, 0);
	T = trans[0][516] = settr(515,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(515,2,365,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(515,2,515,0,0,"IF", 1, 2, 0);
	trans[0][365]	= settr(364,2,382,122,0,"((e==epoch[o]))", 1, 2, 0);
	T = trans[0][382] = settr(381,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(381,2,366,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(381,2,381,0,0,"IF", 1, 2, 0);
	trans[0][366]	= settr(365,2,379,123,123,"(((state[o]==1)&&(k==5)))", 1, 2, 0); /* m: 367 -> 379,0 */
	reached0[367] = 1;
	trans[0][367]	= settr(0,0,0,0,0,"state[o] = 2",0,0,0);
	trans[0][368]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	T = trans[ 0][379] = settr(378,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(378,0,372,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][372] = settr(371,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(371,2,369,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(371,2,371,0,0,"IF", 1, 2, 0);
	trans[0][369]	= settr(368,2,377,124,124,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 370 -> 377,0 */
	reached0[370] = 1;
	trans[0][370]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][373]	= settr(372,2,377,1,0,".(goto)", 1, 2, 0);
	trans[0][371]	= settr(370,2,377,2,0,"else", 1, 2, 0);
	T = trans[0][377] = settr(376,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(376,2,374,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(376,2,376,0,0,"IF", 1, 2, 0);
	trans[0][374]	= settr(373,2,513,125,125,"((e!=epoch[o]))", 1, 2, 0); /* m: 375 -> 513,0 */
	reached0[375] = 1;
	trans[0][375]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][378]	= settr(377,2,380,1,0,".(goto)", 1, 2, 0); /* m: 380 -> 0,513 */
	reached0[380] = 1;
	trans[0][376]	= settr(375,2,380,2,0,"else", 1, 2, 0);
	trans[0][380]	= settr(379,2,513,126,126,"isnew = 0", 1, 2, 0);
	trans[0][383]	= settr(382,2,513,1,0,".(goto)", 1, 2, 0);
	trans[0][381]	= settr(380,2,513,2,0,"else", 1, 2, 0);
	T = trans[0][513] = settr(512,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,384,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,402,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,416,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,449,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,469,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,492,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(512,2,494,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(512,2,512,0,0,"IF", 1, 2, 0);
	trans[0][384]	= settr(383,2,395,127,0,"(((state[o]==2)&&(k==5)))", 1, 2, 0);
	T = trans[ 0][395] = settr(394,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(394,0,388,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][388] = settr(387,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(387,2,385,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(387,2,387,0,0,"IF", 1, 2, 0);
	trans[0][385]	= settr(384,2,393,128,128,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 386 -> 393,0 */
	reached0[386] = 1;
	trans[0][386]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][389]	= settr(388,2,393,1,0,".(goto)", 1, 2, 0);
	trans[0][387]	= settr(386,2,393,2,0,"else", 1, 2, 0);
	T = trans[0][393] = settr(392,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(392,2,390,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(392,2,392,0,0,"IF", 1, 2, 0);
	trans[0][390]	= settr(389,2,400,129,129,"((e!=epoch[o]))", 1, 2, 0); /* m: 391 -> 400,0 */
	reached0[391] = 1;
	trans[0][391]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][394]	= settr(393,2,400,1,0,".(goto)", 1, 2, 0);
	trans[0][392]	= settr(391,2,400,2,0,"else", 1, 2, 0);
	T = trans[0][400] = settr(399,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(399,2,396,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(399,2,399,0,0,"IF", 1, 2, 0);
	trans[0][396]	= settr(395,0,529,130,130,"((got[o]==2))", 1, 2, 0); /* m: 397 -> 529,0 */
	reached0[397] = 1;
	trans[0][397]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][398]	= settr(0,0,0,0,0,"state[o] = 3",0,0,0);
	trans[0][401]	= settr(400,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][399]	= settr(398,2,518,2,0,"else", 1, 2, 0);
	trans[0][514]	= settr(513,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][402]	= settr(401,2,415,131,131,"(((state[o]==3)&&(k==6)))", 1, 2, 0); /* m: 403 -> 415,0 */
	reached0[403] = 1;
	trans[0][403]	= settr(0,0,0,0,0,"state[o] = 4",0,0,0);
	trans[0][404]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	T = trans[ 0][415] = settr(414,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(414,0,408,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][408] = settr(407,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(407,2,405,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(407,2,407,0,0,"IF", 1, 2, 0);
	trans[0][405]	= settr(404,2,413,132,132,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 406 -> 413,0 */
	reached0[406] = 1;
	trans[0][406]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][409]	= settr(408,2,413,1,0,".(goto)", 1, 2, 0);
	trans[0][407]	= settr(406,2,413,2,0,"else", 1, 2, 0);
	T = trans[0][413] = settr(412,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(412,2,410,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(412,2,412,0,0,"IF", 1, 2, 0);
	trans[0][410]	= settr(409,0,529,133,133,"((e!=epoch[o]))", 1, 2, 0); /* m: 411 -> 529,0 */
	reached0[411] = 1;
	trans[0][411]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][414]	= settr(413,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][412]	= settr(411,2,518,2,0,"else", 1, 2, 0);
	trans[0][416]	= settr(415,2,427,134,0,"(((state[o]==4)&&(k==6)))", 1, 2, 0);
	T = trans[ 0][427] = settr(426,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(426,0,420,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][420] = settr(419,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(419,2,417,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(419,2,419,0,0,"IF", 1, 2, 0);
	trans[0][417]	= settr(416,2,425,135,135,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 418 -> 425,0 */
	reached0[418] = 1;
	trans[0][418]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][421]	= settr(420,2,425,1,0,".(goto)", 1, 2, 0);
	trans[0][419]	= settr(418,2,425,2,0,"else", 1, 2, 0);
	T = trans[0][425] = settr(424,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(424,2,422,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(424,2,424,0,0,"IF", 1, 2, 0);
	trans[0][422]	= settr(421,2,447,136,136,"((e!=epoch[o]))", 1, 2, 0); /* m: 423 -> 447,0 */
	reached0[423] = 1;
	trans[0][423]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][426]	= settr(425,2,447,1,0,".(goto)", 1, 2, 0);
	trans[0][424]	= settr(423,2,447,2,0,"else", 1, 2, 0);
	T = trans[0][447] = settr(446,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(446,2,428,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(446,2,446,0,0,"IF", 1, 2, 0);
	trans[0][428]	= settr(427,2,439,137,137,"((got[o]==2))", 1, 2, 0); /* m: 429 -> 439,0 */
	reached0[429] = 1;
	trans[0][429]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	T = trans[ 0][439] = settr(438,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(438,0,430,0,0,"sub-sequence", 1, 2, 0);
	trans[0][430]	= settr(429,2,436,138,138,"assert((epoch[o]==(have[o]+1)))", 1, 2, 0); /* m: 431 -> 0,436 */
	reached0[431] = 1;
	trans[0][431]	= settr(0,0,0,0,0,"have[o] = epoch[o]",0,0,0);
	T = trans[0][436] = settr(435,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(435,2,432,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(435,2,434,0,0,"IF", 1, 2, 0);
	trans[0][432]	= settr(431,2,445,139,139,"((o==0))", 1, 2, 0); /* m: 433 -> 445,0 */
	reached0[433] = 1;
	trans[0][433]	= settr(0,0,0,0,0,"key0[epoch[o]] = pair[o]",0,0,0);
	trans[0][437]	= settr(436,2,438,1,0,".(goto)", 1, 2, 0); /* m: 438 -> 0,445 */
	reached0[438] = 1;
	trans[0][434]	= settr(433,2,435,2,0,"else", 1, 2, 0);
	trans[0][435]	= settr(434,2,445,140,140,"key1[epoch[o]] = pair[o]", 1, 2, 0); /* m: 438 -> 0,445 */
	reached0[438] = 1;
	trans[0][438]	= settr(437,2,445,141,141,"assert((((have[0]<epoch[o])||(have[1]<epoch[o]))||(key0[epoch[o]]==key1[epoch[o]])))", 1, 2, 0);
	T = trans[ 0][445] = settr(444,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(444,0,440,0,0,"sub-sequence", 1, 2, 0);
	trans[0][440]	= settr(439,0,529,142,142,"epoch[o] = (epoch[o]+1)", 1, 2, 0); /* m: 441 -> 0,529 */
	reached0[441] = 1;
	trans[0][441]	= settr(0,0,0,0,0,"state[o] = 5",0,0,0);
	trans[0][442]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	trans[0][443]	= settr(0,0,0,0,0,"mixed[o] = 0",0,0,0);
	trans[0][444]	= settr(0,0,0,0,0,"pair[o] = 0",0,0,0);
	trans[0][448]	= settr(447,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][446]	= settr(445,2,518,2,0,"else", 1, 2, 0);
	trans[0][449]	= settr(448,2,460,143,0,"(((state[o]==5)&&(k==1)))", 1, 2, 0);
	T = trans[ 0][460] = settr(459,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(459,0,453,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][453] = settr(452,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(452,2,450,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(452,2,452,0,0,"IF", 1, 2, 0);
	trans[0][450]	= settr(449,2,458,144,144,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 451 -> 458,0 */
	reached0[451] = 1;
	trans[0][451]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][454]	= settr(453,2,458,1,0,".(goto)", 1, 2, 0);
	trans[0][452]	= settr(451,2,458,2,0,"else", 1, 2, 0);
	T = trans[0][458] = settr(457,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(457,2,455,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(457,2,457,0,0,"IF", 1, 2, 0);
	trans[0][455]	= settr(454,2,467,145,145,"((e!=epoch[o]))", 1, 2, 0); /* m: 456 -> 467,0 */
	reached0[456] = 1;
	trans[0][456]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][459]	= settr(458,2,467,1,0,".(goto)", 1, 2, 0);
	trans[0][457]	= settr(456,2,467,2,0,"else", 1, 2, 0);
	T = trans[0][467] = settr(466,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(466,2,461,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(466,2,466,0,0,"IF", 1, 2, 0);
	trans[0][461]	= settr(460,0,529,146,146,"((got[o]==2))", 1, 2, 0); /* m: 462 -> 529,0 */
	reached0[462] = 1;
	trans[0][462]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][463]	= settr(0,0,0,0,0,"pair[o] = ((2*e)+s)",0,0,0);
	trans[0][464]	= settr(0,0,0,0,0,"got[o] = 0",0,0,0);
	trans[0][465]	= settr(0,0,0,0,0,"state[o] = 6",0,0,0);
	trans[0][468]	= settr(467,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][466]	= settr(465,2,518,2,0,"else", 1, 2, 0);
	trans[0][469]	= settr(468,2,480,147,0,"(((state[o]==7)&&((k==2)||(k==3))))", 1, 2, 0);
	T = trans[ 0][480] = settr(479,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(479,0,473,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][473] = settr(472,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(472,2,470,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(472,2,472,0,0,"IF", 1, 2, 0);
	trans[0][470]	= settr(469,2,478,148,148,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 471 -> 478,0 */
	reached0[471] = 1;
	trans[0][471]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][474]	= settr(473,2,478,1,0,".(goto)", 1, 2, 0);
	trans[0][472]	= settr(471,2,478,2,0,"else", 1, 2, 0);
	T = trans[0][478] = settr(477,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(477,2,475,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(477,2,477,0,0,"IF", 1, 2, 0);
	trans[0][475]	= settr(474,2,490,149,149,"((e!=epoch[o]))", 1, 2, 0); /* m: 476 -> 490,0 */
	reached0[476] = 1;
	trans[0][476]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][479]	= settr(478,2,490,1,0,".(goto)", 1, 2, 0);
	trans[0][477]	= settr(476,2,490,2,0,"else", 1, 2, 0);
	T = trans[0][490] = settr(489,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(489,2,481,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(489,2,484,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(489,2,487,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(489,2,489,0,0,"IF", 1, 2, 0);
	trans[0][481]	= settr(480,0,529,150,150,"(((got[o]==2)&&(k==3)))", 1, 2, 0); /* m: 482 -> 529,0 */
	reached0[482] = 1;
	trans[0][482]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][483]	= settr(0,0,0,0,0,"state[o] = 10",0,0,0);
	trans[0][491]	= settr(490,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][484]	= settr(483,0,529,151,151,"(((got[o]==2)&&(k==2)))", 1, 2, 0); /* m: 485 -> 529,0 */
	reached0[485] = 1;
	trans[0][485]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][486]	= settr(0,0,0,0,0,"state[o] = 8",0,0,0);
	trans[0][487]	= settr(486,0,529,152,152,"(((got[o]<2)&&(k==3)))", 1, 2, 0); /* m: 488 -> 529,0 */
	reached0[488] = 1;
	trans[0][488]	= settr(0,0,0,0,0,"state[o] = 9",0,0,0);
	trans[0][489]	= settr(488,0,529,153,153,"(((got[o]<2)&&(k==2)))", 1, 2, 0); /* m: 518 -> 529,0 */
	reached0[518] = 1;
	trans[0][492]	= settr(491,0,529,154,154,"(((state[o]==8)&&((k==3)||(k==4))))", 1, 2, 0); /* m: 493 -> 529,0 */
	reached0[493] = 1;
	trans[0][493]	= settr(0,0,0,0,0,"state[o] = 10",0,0,0);
	trans[0][494]	= settr(493,2,505,155,0,"(((state[o]==9)&&((k==2)||(k==3))))", 1, 2, 0);
	T = trans[ 0][505] = settr(504,0,0,0,0,"sub-sequence", 1, 2, 0);
	T->nxt	= settr(504,0,498,0,0,"sub-sequence", 1, 2, 0);
	T = trans[0][498] = settr(497,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(497,2,495,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(497,2,497,0,0,"IF", 1, 2, 0);
	trans[0][495]	= settr(494,2,503,156,156,"((isnew&&(got[o]<2)))", 1, 2, 0); /* m: 496 -> 503,0 */
	reached0[496] = 1;
	trans[0][496]	= settr(0,0,0,0,0,"got[o] = (got[o]+1)",0,0,0);
	trans[0][499]	= settr(498,2,503,1,0,".(goto)", 1, 2, 0);
	trans[0][497]	= settr(496,2,503,2,0,"else", 1, 2, 0);
	T = trans[0][503] = settr(502,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(502,2,500,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(502,2,502,0,0,"IF", 1, 2, 0);
	trans[0][500]	= settr(499,2,510,157,157,"((e!=epoch[o]))", 1, 2, 0); /* m: 501 -> 510,0 */
	reached0[501] = 1;
	trans[0][501]	= settr(0,0,0,0,0,"mixed[o] = 1",0,0,0);
	trans[0][504]	= settr(503,2,510,1,0,".(goto)", 1, 2, 0);
	trans[0][502]	= settr(501,2,510,2,0,"else", 1, 2, 0);
	T = trans[0][510] = settr(509,2,0,0,0,"IF", 1, 2, 0);
	T = T->nxt	= settr(509,2,506,0,0,"IF", 1, 2, 0);
	    T->nxt	= settr(509,2,509,0,0,"IF", 1, 2, 0);
	trans[0][506]	= settr(505,0,529,158,158,"((got[o]==2))", 1, 2, 0); /* m: 507 -> 529,0 */
	reached0[507] = 1;
	trans[0][507]	= settr(0,0,0,0,0,"assert(!(mixed[o]))",0,0,0);
	trans[0][508]	= settr(0,0,0,0,0,"state[o] = 10",0,0,0);
	trans[0][511]	= settr(510,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][509]	= settr(508,2,518,2,0,"else", 1, 2, 0);
	trans[0][512]	= settr(511,2,518,2,0,"else", 1, 2, 0);
	trans[0][517]	= settr(516,2,518,1,0,".(goto)", 1, 2, 0); /* m: 518 -> 0,529 */
	reached0[518] = 1;
	trans[0][515]	= settr(514,2,518,2,0,"else", 1, 2, 0);
	trans[0][518]	= settr(517,0,529,159,159,"assert(((epoch[0]!=epoch[1])||((state[0]<=4)!=(state[1]<=4))))", 1, 2, 0); /* m: 523 -> 0,529 */
	reached0[523] = 1;
	trans[0][522]	= settr(521,2,523,1,0,".(goto)", 1, 2, 0); /* m: 523 -> 0,529 */
	reached0[523] = 1;
	trans[0][520]	= settr(519,2,523,2,0,"else", 1, 2, 0);
	trans[0][523]	= settr(522,0,529,160,160,"s = 0", 1, 2, 0); /* m: 524 -> 0,529 */
	reached0[524] = 1;
	trans[0][524]	= settr(0,0,0,0,0,"o = 0",0,0,0);
	trans[0][525]	= settr(0,0,0,0,0,"e = 0",0,0,0);
	trans[0][526]	= settr(0,0,0,0,0,"k = 0",0,0,0);
	trans[0][527]	= settr(0,0,0,0,0,"isnew = 0",0,0,0);
	trans[0][531]	= settr(530,0,532,1,0,"break", 0, 2, 0);
	trans[0][532]	= settr(531,0,0,161,161,"-end-", 0, 3500, 0);
	/* np_ demon: */
	trans[_NP_] = (Trans **) emalloc(3*sizeof(Trans *));
	T = trans[_NP_][0] = settr(9997,0,1,_T5,0,"(np_)", 1,2,0);
	    T->nxt	  = settr(9998,0,0,_T2,0,"(1)",   0,2,0);
	T = trans[_NP_][1] = settr(9999,0,1,_T5,0,"(np_)", 1,2,0);
}

Trans *
settr(	int t_id, int a, int b, int c, int d,
	char *t, int g, int tpe0, int tpe1)
{	Trans *tmp = (Trans *) emalloc(sizeof(Trans));

	tmp->atom  = a&(6|32);	/* only (2|8|32) have meaning */
	if (!g) tmp->atom |= 8;	/* no global references */
	tmp->st    = b;
	tmp->tpe[0] = tpe0;
	tmp->tpe[1] = tpe1;
	tmp->tp    = t;
	tmp->t_id  = t_id;
	tmp->forw  = c;
	tmp->back  = d;
	return tmp;
}

Trans *
cpytr(Trans *a)
{	Trans *tmp = (Trans *) emalloc(sizeof(Trans));

	int i;
	tmp->atom  = a->atom;
	tmp->st    = a->st;
#ifdef HAS_UNLESS
	tmp->e_trans = a->e_trans;
	for (i = 0; i < HAS_UNLESS; i++)
		tmp->escp[i] = a->escp[i];
#endif
	tmp->tpe[0] = a->tpe[0];
	tmp->tpe[1] = a->tpe[1];
	for (i = 0; i < 6; i++)
	{	tmp->qu[i] = a->qu[i];
		tmp->ty[i] = a->ty[i];
	}
	tmp->tp    = (char *) emalloc(strlen(a->tp)+1);
	strcpy(tmp->tp, a->tp);
	tmp->t_id  = a->t_id;
	tmp->forw  = a->forw;
	tmp->back  = a->back;
	return tmp;
}

#ifndef NOREDUCE
int
srinc_set(int n)
{	if (n <= 2) return LOCAL;
	if (n <= 2+  DELTA) return Q_FULL_F; /* 's' or nfull  */
	if (n <= 2+2*DELTA) return Q_EMPT_F; /* 'r' or nempty */
	if (n <= 2+3*DELTA) return Q_EMPT_T; /* empty */
	if (n <= 2+4*DELTA) return Q_FULL_T; /* full  */
	if (n ==   5*DELTA) return GLOBAL;
	if (n ==   6*DELTA) return TIMEOUT_F;
	if (n ==   7*DELTA) return ALPHA_F;
	Uerror("cannot happen srinc_class");
	return BAD;
}
int
srunc(int n, int m)
{	switch(m) {
	case Q_FULL_F: return n-2;
	case Q_EMPT_F: return n-2-DELTA;
	case Q_EMPT_T: return n-2-2*DELTA;
	case Q_FULL_T: return n-2-3*DELTA;
	case ALPHA_F:
	case TIMEOUT_F: return 257; /* non-zero, and > MAXQ */
	}
	Uerror("cannot happen srunc");
	return 0;
}
#endif
int cnt;
#ifdef HAS_UNLESS
int
isthere(Trans *a, int b)
{	Trans *t;
	for (t = a; t; t = t->nxt)
		if (t->t_id == b)
			return 1;
	return 0;
}
#endif
#ifndef NOREDUCE
int
mark_safety(Trans *t) /* for conditional safety */
{	int g = 0, i, j, k;

	if (!t) return 0;
	if (t->qu[0])
		return (t->qu[1])?2:1;	/* marked */

	for (i = 0; i < 2; i++)
	{	j = srinc_set(t->tpe[i]);
		if (j >= GLOBAL && j != ALPHA_F)
			return -1;
		if (j != LOCAL)
		{	k = srunc(t->tpe[i], j);
			if (g == 0
			||  t->qu[0] != k
			||  t->ty[0] != j)
			{	t->qu[g] = k;
				t->ty[g] = j;
				g++;
	}	}	}
	return g;
}
#endif
void
retrans(int n, int m, int is, short srcln[], uchar reach[], uchar lpstate[])
	/* process n, with m states, is=initial state */
{	Trans *T0, *T1, *T2, *T3;
	Trans *T4, *T5; /* t_reverse or has_unless */
	int i;
#if defined(HAS_UNLESS) || !defined(NOREDUCE)
	int k;
#endif
#ifndef NOREDUCE
	int g, h, j, aa;
#endif
#ifdef HAS_UNLESS
	int p;
#endif
	if (state_tables >= 4)
	{	printf("STEP 1 %s\n", 
			procname[n]);
		for (i = 1; i < m; i++)
		for (T0 = trans[n][i]; T0; T0 = T0->nxt)
			crack(n, i, T0, srcln);
		return;
	}
	do {
		for (i = 1, cnt = 0; i < m; i++)
		{	T2 = trans[n][i];
			T1 = T2?T2->nxt:(Trans *)0;
/* prescan: */		for (T0 = T1; T0; T0 = T0->nxt)
/* choice in choice */	{	if (T0->st && trans[n][T0->st]
				&&  trans[n][T0->st]->nxt)
					break;
			}
#if 0
		if (T0)
		printf("\tstate %d / %d: choice in choice\n",
		i, T0->st);
#endif
			if (T0)
			for (T0 = T1; T0; T0 = T0->nxt)
			{	T3 = trans[n][T0->st];
				if (!T3->nxt)
				{	T2->nxt = cpytr(T0);
					T2 = T2->nxt;
					imed(T2, T0->st, n, i);
					continue;
				}
				do {	T3 = T3->nxt;
					T2->nxt = cpytr(T3);
					T2 = T2->nxt;
					imed(T2, T0->st, n, i);
				} while (T3->nxt);
				cnt++;
			}
		}
	} while (cnt);
	if (state_tables >= 3)
	{	printf("STEP 2 %s\n", 
			procname[n]);
		for (i = 1; i < m; i++)
		for (T0 = trans[n][i]; T0; T0 = T0->nxt)
			crack(n, i, T0, srcln);
		return;
	}
	for (i = 1; i < m; i++)
	{	if (trans[n][i] && trans[n][i]->nxt) /* optimize */
		{	T1 = trans[n][i]->nxt;
#if 0
			printf("\t\tpull %d (%d) to %d\n",
			T1->st, T1->forw, i);
#endif
			srcln[i] = srcln[T1->st];	/* Oyvind Teig, 5.2.0 */

			if (!trans[n][T1->st]) continue;
			T0 = cpytr(trans[n][T1->st]);
			trans[n][i] = T0;
			reach[T1->st] = 1;
			imed(T0, T1->st, n, i);
			for (T1 = T1->nxt; T1; T1 = T1->nxt)
			{
#if 0
			printf("\t\tpull %d (%d) to %d\n",
				T1->st, T1->forw, i);
#endif
		/*		srcln[i] = srcln[T1->st];  gh: not useful */
				if (!trans[n][T1->st]) continue;
				T0->nxt = cpytr(trans[n][T1->st]);
				T0 = T0->nxt;
				reach[T1->st] = 1;
				imed(T0, T1->st, n, i);
	}	}	}
	if (state_tables >= 2)
	{	printf("STEP 3 %s\n", 
			procname[n]);
		for (i = 1; i < m; i++)
		for (T0 = trans[n][i]; T0; T0 = T0->nxt)
			crack(n, i, T0, srcln);
		return;
	}
#ifdef HAS_UNLESS
	for (i = 1; i < m; i++)
	{	if (!trans[n][i]) continue;
		/* check for each state i if an
		 * escape to some state p is defined
		 * if so, copy and mark p's transitions
		 * and prepend them to the transition-
		 * list of state i
		 */
	 if (!like_java) /* the default */
	 {	for (T0 = trans[n][i]; T0; T0 = T0->nxt)
		for (k = HAS_UNLESS-1; k >= 0; k--)
		{	if (p = T0->escp[k])
			for (T1 = trans[n][p]; T1; T1 = T1->nxt)
			{	if (isthere(trans[n][i], T1->t_id))
					continue;
				T2 = cpytr(T1);
				T2->e_trans = p;
				T2->nxt = trans[n][i];
				trans[n][i] = T2;
		}	}
	 } else /* outermost unless checked first */
	 {	T4 = T3 = (Trans *) 0;
		for (T0 = trans[n][i]; T0; T0 = T0->nxt)
		for (k = HAS_UNLESS-1; k >= 0; k--)
		{	if (p = T0->escp[k])
			for (T1 = trans[n][p]; T1; T1 = T1->nxt)
			{	if (isthere(trans[n][i], T1->t_id))
					continue;
				T2 = cpytr(T1);
				T2->nxt = (Trans *) 0;
				T2->e_trans = p;
				if (T3)	T3->nxt = T2;
				else	T4 = T2;
				T3 = T2;
		}	}
		if (T4)
		{	T3->nxt = trans[n][i];
			trans[n][i] = T4;
		}
	 }
	}
#endif
#ifndef NOREDUCE
	for (i = 1; i < m; i++)
	{	if (a_cycles)
		{ /* moves through these states are visible */
	#if PROG_LAB>0 && defined(HAS_NP)
			if (progstate[n][i])
				goto degrade;
			for (T1 = trans[n][i]; T1; T1 = T1->nxt)
				if (progstate[n][T1->st])
					goto degrade;
	#endif
			if (accpstate[n][i] || visstate[n][i])
				goto degrade;
			for (T1 = trans[n][i]; T1; T1 = T1->nxt)
				if (accpstate[n][T1->st])
					goto degrade;
		}
		T1 = trans[n][i];
		if (!T1) continue;
		g = mark_safety(T1);	/* V3.3.1 */
		if (g < 0) goto degrade; /* global */
		/* check if mixing of guards preserves reduction */
		if (T1->nxt)
		{	k = 0;
			for (T0 = T1; T0; T0 = T0->nxt)
			{	if (!(T0->atom&8))
					goto degrade;
				for (aa = 0; aa < 2; aa++)
				{	j = srinc_set(T0->tpe[aa]);
					if (j >= GLOBAL && j != ALPHA_F)
						goto degrade;
					if (T0->tpe[aa]
					&&  T0->tpe[aa]
					!=  T1->tpe[0])
						k = 1;
			}	}
			/* g = 0;	V3.3.1 */
			if (k)	/* non-uniform selection */
			for (T0 = T1; T0; T0 = T0->nxt)
			for (aa = 0; aa < 2; aa++)
			{	j = srinc_set(T0->tpe[aa]);
				if (j != LOCAL)
				{	k = srunc(T0->tpe[aa], j);
					for (h = 0; h < 6; h++)
						if (T1->qu[h] == k
						&&  T1->ty[h] == j)
							break;
					if (h >= 6)
					{	T1->qu[g%6] = k;
						T1->ty[g%6] = j;
						g++;
			}	}	}
			if (g > 6)
			{	T1->qu[0] = 0;	/* turn it off */
				printf("pan: warning, line %d, ",
					srcln[i]);
			 	printf("too many stmnt types (%d)",
					g);
			  	printf(" in selection\n");
			  goto degrade;
			}
		}
		/* mark all options global if >=1 is global */
		for (T1 = trans[n][i]; T1; T1 = T1->nxt)
			if (!(T1->atom&8)) break;
		if (T1)
degrade:	for (T1 = trans[n][i]; T1; T1 = T1->nxt)
			T1->atom &= ~8;	/* mark as unsafe */
		/* can only mix 'r's or 's's if on same chan */
		/* and not mixed with other local operations */
		T1 = trans[n][i];
		if (!T1 || T1->qu[0]) continue;
		j = T1->tpe[0];
		if (T1->nxt && T1->atom&8)
		{ if (j == 5*DELTA)
		  {	printf("warning: line %d ", srcln[i]);
			printf("mixed condition ");
			printf("(defeats reduction)\n");
			goto degrade;
		  }
		  for (T0 = T1; T0; T0 = T0->nxt)
		  for (aa = 0; aa < 2; aa++)
		  if  (T0->tpe[aa] && T0->tpe[aa] != j)
		  {	printf("warning: line %d ", srcln[i]);
			printf("[%d-%d] mixed %stion ",
				T0->tpe[aa], j, 
				(j==5*DELTA)?"condi":"selec");
			printf("(defeats reduction)\n");
			printf("	'%s' <-> '%s'\n",
				T1->tp, T0->tp);
			goto degrade;
		} }
	}
#endif
	for (i = 1; i < m; i++)
	{	T2 = trans[n][i];
		if (!T2
		||  T2->nxt
		||  strncmp(T2->tp, ".(goto)", 7)
		||  !stopstate[n][i])
			continue;
		stopstate[n][T2->st] = 1;
	}
	if (state_tables && !verbose)
	{	if (dodot)
		{	char buf[256], *q = buf, *p = procname[n];
			while (*p != '\0')
			{	if (*p != ':')
				{	*q++ = *p;
				}
				p++;
			}
			*q = '\0';
			printf("digraph ");
			switch (Btypes[n]) {
			case I_PROC:  printf("init {\n"); break;
			case N_CLAIM: printf("claim_%s {\n", buf); break;
			case E_TRACE: printf("notrace {\n"); break;
			case N_TRACE: printf("trace {\n"); break;
			default:      printf("p_%s {\n", buf); break;
			}
			printf("size=\"8,10\";\n");
			printf("  GT [shape=box,style=dotted,label=\"%s\"];\n", buf);
			printf("  GT -> S%d;\n", is);
		} else
		{	switch (Btypes[n]) {
			case I_PROC:  printf("init\n"); break;
			case N_CLAIM: printf("claim %s\n", procname[n]); break;
			case E_TRACE: printf("notrace assertion\n"); break;
			case N_TRACE: printf("trace assertion\n"); break;
			default:      printf("proctype %s\n", procname[n]); break;
		}	}
		for (i = 1; i < m; i++)
		{	reach[i] = 1;
		}
		tagtable(n, m, is, srcln, reach);
		if (dodot) printf("}\n");
	} else
	for (i = 1; i < m; i++)
	{	int nrelse;
		if (Btypes[n] != N_CLAIM)
		{	for (T0 = trans[n][i]; T0; T0 = T0->nxt)
			{	if (T0->st == i
				&& strcmp(T0->tp, "(1)") == 0)
				{	printf("error: proctype '%s' ",
						procname[n]);
		  			printf("line %d, state %d: has un",
						srcln[i], i);
					printf("conditional self-loop\n");
					pan_exit(1);
		}	}	}
		nrelse = 0;
		for (T0 = trans[n][i]; T0; T0 = T0->nxt)
		{	if (strcmp(T0->tp, "else") == 0)
				nrelse++;
		}
		if (nrelse > 1)
		{	printf("error: proctype '%s' state",
				procname[n]);
		  	printf(" %d, inherits %d", i, nrelse);
		  	printf(" 'else' stmnts\n");
			pan_exit(1);
	}	}
#if !defined(LOOPSTATE) && !defined(BFS_PAR)
	if (state_tables)
#endif
	do_dfs(n, m, is, srcln, reach, lpstate);

	if (!t_reverse)
	{	return;
	}
	/* process n, with m states, is=initial state -- reverse list */
	if (!state_tables && Btypes[n] != N_CLAIM)
	{	for (i = 1; i < m; i++)
		{	Trans *Tx = (Trans *) 0; /* list of escapes */
			Trans *Ty = (Trans *) 0; /* its tail element */
			T1 = (Trans *) 0; /* reversed list */
			T2 = (Trans *) 0; /* its tail */
			T3 = (Trans *) 0; /* remembers possible 'else' */

			/* find unless-escapes, they should go first */
			T4 = T5 = T0 = trans[n][i];
	#ifdef HAS_UNLESS
			while (T4 && T4->e_trans) /* escapes are first in orig list */
			{	T5 = T4;	  /* remember predecessor */
				T4 = T4->nxt;
			}
	#endif
			/* T4 points to first non-escape, T5 to its parent, T0 to original list */
			if (T4 != T0)		 /* there was at least one escape */
			{	T3 = T5->nxt;		 /* start of non-escapes */
				T5->nxt = (Trans *) 0;	 /* separate */
				Tx = T0;		 /* start of the escapes */
				Ty = T5;		 /* its tail */
				T0 = T3;		 /* the rest, to be reversed */
			}
			/* T0 points to first non-escape, Tx to the list of escapes, Ty to its tail */

			/* first tail-add non-escape transitions, reversed */
			T3 = (Trans *) 0;
			for (T5 = T0; T5; T5 = T4)
			{	T4 = T5->nxt;
	#ifdef HAS_UNLESS
				if (T5->e_trans)
				{	printf("error: cannot happen!\n");
					continue;
				}
	#endif
				if (strcmp(T5->tp, "else") == 0)
				{	T3 = T5;
					T5->nxt = (Trans *) 0;
				} else
				{	T5->nxt = T1;
					if (!T1) { T2 = T5; }
					T1 = T5;
			}	}
			/* T3 points to a possible else, which is removed from the list */
			/* T1 points to the reversed list so far (without escapes) */
			/* T2 points to the tail element -- where the else should go */
			if (T2 && T3)
			{	T2->nxt = T3;	/* add else */
			} else
			{	if (T3) /* there was an else, but there's no tail */
				{	if (!T1)	/* and no reversed list */
					{	T1 = T3; /* odd, but possible */
					} else		/* even stranger */
					{	T1->nxt = T3;
			}	}	}

			/* add in the escapes, to that they appear at the front */
			if (Tx && Ty) { Ty->nxt = T1; T1 = Tx; }

			trans[n][i] = T1;
			/* reversed, with escapes first and else last */
	}	}
	if (state_tables && verbose)
	{	printf("FINAL proctype %s\n", 
			procname[n]);
		for (i = 1; i < m; i++)
		for (T0 = trans[n][i]; T0; T0 = T0->nxt)
			crack(n, i, T0, srcln);
	}
}
void
imed(Trans *T, int v, int n, int j)	/* set intermediate state */
{	progstate[n][T->st] |= progstate[n][v];
	accpstate[n][T->st] |= accpstate[n][v];
	stopstate[n][T->st] |= stopstate[n][v];
	mapstate[n][j] = T->st;
}
void
tagtable(int n, int m, int is, short srcln[], uchar reach[])
{	Trans *z;

	if (is >= m || !trans[n][is]
	||  is <= 0 || reach[is] == 0)
		return;
	reach[is] = 0;
	if (state_tables)
	for (z = trans[n][is]; z; z = z->nxt)
	{	if (dodot)
			dot_crack(n, is, z);
		else
			crack(n, is, z, srcln);
	}

	for (z = trans[n][is]; z; z = z->nxt)
	{
#ifdef HAS_UNLESS
		int i, j;
#endif
		tagtable(n, m, z->st, srcln, reach);
#ifdef HAS_UNLESS
		for (i = 0; i < HAS_UNLESS; i++)
		{	j = trans[n][is]->escp[i];
			if (!j) break;
			tagtable(n, m, j, srcln, reach);
		}
#endif
	}
}

extern Trans *t_id_lkup[];

void
dfs_table(int n, int m, int is, short srcln[], uchar reach[], uchar lpstate[])
{	Trans *z;

	if (is >= m || is <= 0 || !trans[n][is])
		return;
	if ((reach[is] & (4|8|16)) != 0)
	{	if ((reach[is] & (8|16)) == 16)	/* on stack, not yet recorded */
		{	lpstate[is] = 1;
			reach[is] |= 8; /* recorded */
			if (state_tables && verbose)
			{	printf("state %d line %d is a loopstate\n", is, srcln[is]);
		}	}
		return;
	}
	reach[is] |= (4|16);	/* visited | onstack */
	for (z = trans[n][is]; z; z = z->nxt)
	{	t_id_lkup[z->t_id] = z;
#ifdef HAS_UNLESS
		int i, j;
#endif
		dfs_table(n, m, z->st, srcln, reach, lpstate);
#ifdef HAS_UNLESS
		for (i = 0; i < HAS_UNLESS; i++)
		{	j = trans[n][is]->escp[i];
			if (!j) break;
			dfs_table(n, m, j, srcln, reach, lpstate);
		}
#endif
	}
	reach[is] &= ~16; /* no longer on stack */
}
void
do_dfs(int n, int m, int is, short srcln[], uchar reach[], uchar lpstate[])
{	int i;
	dfs_table(n, m, is, srcln, reach, lpstate);
	for (i = 0; i < m; i++)
		reach[i] &= ~(4|8|16);
}
void
crack(int n, int j, Trans *z, short srcln[])
{	int i;

	if (!z) return;
	printf("	state %3d -(tr %3d)-> state %3d  ",
		j, z->forw, z->st);
	printf("[id %3d tp %3d", z->t_id, z->tpe[0]);
	if (z->tpe[1]) printf(",%d", z->tpe[1]);
#ifdef HAS_UNLESS
	if (z->e_trans)
		printf(" org %3d", z->e_trans);
	else if (state_tables >= 2)
	for (i = 0; i < HAS_UNLESS; i++)
	{	if (!z->escp[i]) break;
		printf(" esc %d", z->escp[i]);
	}
#endif
	printf("]");
	printf(" [%s%s%s%s%s] %s:%d => ",
		z->atom&6?"A":z->atom&32?"D":"-",
		accpstate[n][j]?"a" :"-",
		stopstate[n][j]?"e" : "-",
		progstate[n][j]?"p" : "-",
		z->atom & 8 ?"L":"G",
		PanSource, srcln[j]);
	for (i = 0; z->tp[i]; i++)
		if (z->tp[i] == '\n')
			printf("\\n");
		else
			putchar(z->tp[i]);
	if (verbose && z->qu[0])
	{	printf("\t[");
		for (i = 0; i < 6; i++)
			if (z->qu[i])
				printf("(%d,%d)",
				z->qu[i], z->ty[i]);
		printf("]");
	}
	printf("\n");
	fflush(stdout);
}
/* spin -a m.pml; cc -o pan pan.c; ./pan -D | dot -Tps > foo.ps; ps2pdf foo.ps */
void
dot_crack(int n, int j, Trans *z)
{	int i;

	if (!z) return;
	printf("	S%d -> S%d  [color=black", j, z->st);

	if (z->atom&6) printf(",style=dashed");
	else if (z->atom&32) printf(",style=dotted");
	else if (z->atom&8) printf(",style=solid");
	else printf(",style=bold");

	printf(",label=\"");
	for (i = 0; z->tp[i]; i++)
	{	if (z->tp[i] == '\\'
		&&  z->tp[i+1] == 'n')
		{	i++; printf(" ");
		} else
		{	putchar(z->tp[i]);
	}	}
	printf("\"];\n");
	if (accpstate[n][j]) printf("  S%d [color=red,style=bold];\n", j);
	else if (progstate[n][j]) printf("  S%d [color=green,style=bold];\n", j);
	if (stopstate[n][j]) printf("  S%d [color=blue,style=bold,shape=box];\n", j);
}

#ifdef VAR_RANGES
#define BYTESIZE	32	/* 2^8 : 2^3 = 256:8 = 32 */

typedef struct Vr_Ptr {
	char	*nm;
	uchar	vals[BYTESIZE];
	struct Vr_Ptr *nxt;
} Vr_Ptr;
Vr_Ptr *ranges = (Vr_Ptr *) 0;

void
logval(char *s, int v)
{	Vr_Ptr *tmp;

	if (v<0 || v > 255) return;
	for (tmp = ranges; tmp; tmp = tmp->nxt)
		if (!strcmp(tmp->nm, s))
			goto found;
	tmp = (Vr_Ptr *) emalloc(sizeof(Vr_Ptr));
	tmp->nxt = ranges;
	ranges = tmp;
	tmp->nm = s;
found:
	tmp->vals[(v)/8] |= 1<<((v)%8);
}

void
dumpval(uchar X[], int range)
{	int w, x, i, j = -1;

	for (w = i = 0; w < range; w++)
	for (x = 0; x < 8; x++, i++)
	{
from:		if ((X[w] & (1<<x)))
		{	printf("%d", i);
			j = i;
			goto upto;
	}	}
	return;
	for (w = 0; w < range; w++)
	for (x = 0; x < 8; x++, i++)
	{
upto:		if (!(X[w] & (1<<x)))
		{	if (i-1 == j)
				printf(", ");
			else
				printf("-%d, ", i-1);
			goto from;
	}	}
	if (j >= 0 && j != 255)
		printf("-255");
}

void
dumpranges(void)
{	Vr_Ptr *tmp;
	printf("\nValues assigned within ");
	printf("interval [0..255]:\n");
	for (tmp = ranges; tmp; tmp = tmp->nxt)
	{	printf("\t%s\t: ", tmp->nm);
		dumpval(tmp->vals, BYTESIZE);
		printf("\n");
	}
}
#endif
