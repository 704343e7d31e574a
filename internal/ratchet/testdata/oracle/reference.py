"""A second model of the ratchet: the pseudocode of Signal's Double Ratchet specification, Section 4 (encrypted headers), line
by line, with Tacet's derivations and layout. Its names are the specification's.

The braid is not modelled: its field and its key come with each message of the scenario.

A scenario comes on standard input, one answer per event goes to standard output.
"""

import copy
import json
import sys

from cryptography.exceptions import InvalidTag

import derive

MAX_SKIP = 1000


class State:
    pass


class Refused(Exception):
    pass


def generate_dh(state):
    private = state.keys.pop(0)
    return private, derive.dh_public(private)


def encode(dh, pn, n, field):
    return dh + pn.to_bytes(4, "big") + n.to_bytes(4, "big") + field


def hdecrypt(hk, enc):
    if hk is None:
        return None
    try:
        h = derive.unseal(hk, enc[:12], enc[12:], None)
    except InvalidTag:
        return None
    assert len(h) == 118
    return h[:32], int.from_bytes(h[32:36], "big"), int.from_bytes(h[36:40], "big")


def decrypt(state, mk, body, ad):
    try:
        return derive.unseal(derive.message_key(mk, state.braid), body[:12], body[12:], ad)
    except InvalidTag:
        raise Refused from None


def init_alice(state, sk, bob_public):
    rk, hka, nhkb = derive.begin(sk)
    state.DHRs, state.DHRr = generate_dh(state), bob_public
    state.RK, state.CKs, state.NHKs = derive.kdf_rk(rk, derive.dh(state.DHRs[0], state.DHRr))
    state.CKr = None
    state.Ns = state.Nr = state.PN = 0
    state.MKSKIPPED = {}
    state.HKs, state.HKr, state.NHKr = hka, None, nhkb


def init_bob(state, sk, pair):
    rk, hka, nhkb = derive.begin(sk)
    state.DHRs, state.DHRr = pair, None
    state.RK, state.CKs, state.CKr = rk, None, None
    state.Ns = state.Nr = state.PN = 0
    state.MKSKIPPED = {}
    state.HKs, state.NHKs, state.HKr, state.NHKr = None, nhkb, None, hka


def ratchet_encrypt(state, plain, ad, nonces, field, braid):
    state.CKs, mk = derive.kdf_ck(state.CKs)
    h = encode(state.DHRs[1], state.PN, state.Ns, field)
    enc = nonces[:12] + derive.seal(state.HKs, nonces[:12], h, None)
    state.Ns += 1
    return enc + nonces[12:] + derive.seal(derive.message_key(mk, braid), nonces[12:], plain, ad + enc), mk


def ratchet_decrypt(state, enc, body, ad):
    plain = try_skipped(state, enc, body, ad)
    if plain is not None:
        return plain
    header, step = decrypt_header(state, enc)
    dh, pn, n = header
    if step:
        skip(state, pn)
        dh_ratchet(state, dh)
    if n < state.Nr:
        raise Refused  # the pseudocode leaves this to the tag of a key that is none
    skip(state, n)
    state.CKr, mk = derive.kdf_ck(state.CKr)
    state.Nr += 1
    return decrypt(state, mk, body, ad + enc)


def try_skipped(state, enc, body, ad):
    for (hk, n), mk in state.MKSKIPPED.items():
        h = hdecrypt(hk, enc)
        if h is not None and h[2] == n:
            del state.MKSKIPPED[hk, n]
            return decrypt(state, mk, body, ad + enc)
    return None


def decrypt_header(state, enc):
    h = hdecrypt(state.HKr, enc)
    if h is not None:
        return h, False
    h = hdecrypt(state.NHKr, enc)
    if h is not None:
        return h, True
    raise Refused


def skip(state, until):
    if state.Nr + MAX_SKIP < until:
        raise Refused
    if state.CKr is not None:
        while state.Nr < until:
            state.CKr, mk = derive.kdf_ck(state.CKr)
            state.MKSKIPPED[state.HKr, state.Nr] = mk
            state.Nr += 1


def dh_ratchet(state, dh):
    state.PN, state.Ns, state.Nr = state.Ns, 0, 0
    state.HKs, state.HKr, state.DHRr = state.NHKs, state.NHKr, dh
    state.RK, state.CKr, state.NHKr = derive.kdf_rk(state.RK, derive.dh(state.DHRs[0], state.DHRr))
    state.DHRs = generate_dh(state)
    state.RK, state.CKs, state.NHKs = derive.kdf_rk(state.RK, derive.dh(state.DHRs[0], state.DHRr))


def main():
    s = json.load(sys.stdin)
    sk, signed, ad = (bytes.fromhex(s[k]) for k in ("sk", "signed", "ad"))
    states = {}
    for who, keys in s["keys"].items():
        states[who] = State()
        states[who].keys = [bytes.fromhex(k) for k in keys]
    init_alice(states["a"], sk, derive.dh_public(signed))
    init_bob(states["b"], sk, (signed, derive.dh_public(signed)))
    sent = []
    for e in s["events"]:
        if e["op"] == "send":
            field, braid = bytes.fromhex(e["field"]), bytes.fromhex(e["braid"])
            m, mk = ratchet_encrypt(states[e["who"]], bytes.fromhex(e["block"]), ad, bytes.fromhex(e["nonces"]), field, braid)
            sent.append((m, braid))
            print(json.dumps(dict(message=m.hex(), key=mk.hex())))
            continue
        (m, braid), draft = sent[e["message"]], copy.deepcopy(states[e["who"]])
        draft.braid = braid
        try:
            block = ratchet_decrypt(draft, m[:146], m[146:], ad)
            states[e["who"]] = draft
            print(json.dumps(dict(block=block.hex())))
        except Refused:
            print(json.dumps(dict(refused=True)))


main()
