"""Replays a scenario through python3-doubleratchet with Tacet's derivations and AEAD.

The library has no encrypted headers, so the sealed header of each message comes from the scenario and is only bound as
associated data. Everything else (ratchet steps, counters, skipped keys, message keys, ciphertexts) is the library's.

A scenario comes on standard input, one answer per event goes to standard output.
"""

import asyncio
import json
import sys

import doubleratchet
from doubleratchet.recommended import diffie_hellman_ratchet_curve25519 as curve25519

import derive


class RootKDF(doubleratchet.KDF):
    @staticmethod
    async def derive(key, data, length):
        root, chain, _ = derive.kdf_rk(key, data)
        return (root + chain)[:length]


class ChainKDF(doubleratchet.KDF):
    @staticmethod
    async def derive(key, data, length):
        chain, ec = derive.kdf_ck(key)
        return (chain + ec)[:length]


class AEAD(doubleratchet.AEAD):
    nonce = None  # of the next encryption
    key = None  # EC key of the last call
    braid = None  # the braid's key of the message

    @staticmethod
    async def encrypt(plaintext, key, associated_data):
        AEAD.key = key
        return AEAD.nonce + derive.seal(derive.message_key(key, AEAD.braid), AEAD.nonce, plaintext, associated_data)

    @staticmethod
    async def decrypt(ciphertext, key, associated_data):
        AEAD.key = key
        try:
            return derive.unseal(derive.message_key(key, AEAD.braid), ciphertext[:12], ciphertext[12:], associated_data)
        except Exception as e:
            raise doubleratchet.AuthenticationFailedException() from e


class Ratchet(doubleratchet.DoubleRatchet):
    @staticmethod
    def _build_associated_data(associated_data, header):
        return associated_data  # the sealed header is in it already


class Party:
    def __init__(self, keys):
        class DH(curve25519.DiffieHellmanRatchet):
            @staticmethod
            def _generate_priv():
                return keys.pop(0) if keys else bytes([1] * 32)

        self.keys, self.dh, self.ratchet = keys, DH, None

    def common(self):
        return dict(
            diffie_hellman_ratchet_class=self.dh, root_chain_kdf=RootKDF, message_chain_kdf=ChainKDF,
            message_chain_constant=b"", dos_protection_threshold=1000, max_num_skipped_message_keys=2000, aead=AEAD)


async def main():
    s = json.load(sys.stdin)
    root, _, _ = derive.begin(bytes.fromhex(s["sk"]))
    signed, ad = bytes.fromhex(s["signed"]), bytes.fromhex(s["ad"])
    party = {who: Party([bytes.fromhex(k) for k in keys]) for who, keys in s["keys"].items()}
    sent = []
    for e in s["events"]:
        p = party[e["who"]]
        if e["op"] == "send":
            head, AEAD.nonce = bytes.fromhex(e["head"]), bytes.fromhex(e["nonces"])[12:]
            block, AEAD.braid = bytes.fromhex(e["block"]), bytes.fromhex(e["braid"])
            if p.ratchet is None:
                p.ratchet, m = await Ratchet.encrypt_initial_message(
                    shared_secret=root, recipient_ratchet_pub=derive.dh_public(signed), message=block,
                    associated_data=ad + head, **p.common())
            else:
                m = await p.ratchet.encrypt_message(block, ad + head)
            sent.append((m, head, AEAD.braid))
            h = m.header
            print(json.dumps(dict(dh=h.ratchet_pub.hex(), pn=h.previous_sending_chain_length, n=h.sending_chain_length,
                                  body=m.ciphertext.hex(), key=AEAD.key.hex())))
            continue
        m, head, AEAD.braid = sent[e["message"]]
        # Without encrypted headers the library takes a repeated message of an old chain for a new chain: it makes a key before
        # the tag tells it otherwise. Such a key is given back.
        keys = list(p.keys)
        try:
            if p.ratchet is None:
                p.ratchet, block = await Ratchet.decrypt_initial_message(
                    shared_secret=root, own_ratchet_priv=signed, message=m, associated_data=ad + head, **p.common())
            else:
                block = await p.ratchet.decrypt_message(m, ad + head)
            print(json.dumps(dict(block=block.hex(), key=AEAD.key.hex())))
        except (doubleratchet.AuthenticationFailedException, doubleratchet.DuplicateMessageException):
            p.keys[:] = keys
            print(json.dumps(dict(refused=True)))


asyncio.run(main())
