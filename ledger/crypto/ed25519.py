"""Ed25519: verification by the rules of TIP-14 (ZIP-215), which decide whether a transaction is a conflict; signatures.

Invariants:
1. A signature that libsodium accepts is valid: its equation without the cofactor is stricter than TIP-14, and it
   rejects points of small order. A signature that it rejects is verified again here with the cofactor, because
   libraries differ on such points and on non-canonical encodings. That takes two milliseconds, forty times as long.
2. The arithmetic here only verifies. It handles no secrets, so it need not run in constant time. libsodium signs.
3. A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z, on −x² + y² = 1 + dx²y².
"""

from hashlib import sha512
from typing import TypeAlias

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

_Point: TypeAlias = tuple[int, int, int, int]

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493  # of the base point
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)  # of −1
_LOW_255 = (1 << 255) - 1


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the 64-byte signature of the message is valid under the 32-byte public key."""
    return verify_without_cofactor(public_key, message, signature) or _verify_by_cofactor(
        public_key, message, signature
    )


def verify_without_cofactor(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether libsodium accepts the signature. It is stricter than `verify`, as are other verifiers of signed notes."""
    try:
        VerifyKey(public_key).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def public_key_of(seed: bytes) -> bytes:
    """The 32-byte public key of a private key, which is a seed of 32 secret random bytes (RFC 8032 5.1.5).

    Raises:
        ValueError: the seed does not have 32 bytes.
    """
    return SigningKey(seed).verify_key.encode()


def sign(seed: bytes, message: bytes) -> bytes:
    """The 64-byte signature of a message. The same seed and message always give the same signature."""
    return SigningKey(seed).sign(message).signature


def is_point(data: bytes) -> bool:
    """Whether 32 bytes are the encoding of a point of the curve, so that they may be a public key."""
    return _decode(data) is not None


def _verify_by_cofactor(public_key: bytes, message: bytes, signature: bytes) -> bool:
    key, commitment = _decode(public_key), _decode(signature[:32])
    response = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or response >= _ORDER:
        return False
    digest = sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    difference = _add(_sum_of_products(response, _BASE, challenge, _negate(key)), _negate(commitment))
    for _ in range(3):  # multiply by the cofactor 8: points that differ by a point of small order become equal
        difference = _add(difference, difference)
    x, y, z, _ = difference
    return x == 0 and y == z


def _decode(data: bytes) -> _Point | None:
    """Decodes 32 bytes to a point; None if invalid. y may reach the modulus, and x = 0 may have the sign bit set."""
    number = int.from_bytes(data, "little")
    y = (number & _LOW_255) % _P
    over, under = (y * y - 1) % _P, (_D * y * y + 1) % _P  # x² = over / under
    x = over * pow(under, 3, _P) * pow(over * pow(under, 7, _P), (_P - 5) // 8, _P) % _P
    square = under * x * x % _P
    if square != over:
        if square != -over % _P:
            return None
        x = x * _ROOT % _P
    if x & 1 != number >> 255:
        x = -x % _P
    return x, y, 1, x * y % _P


def _negate(point: _Point) -> _Point:
    x, y, z, t = point
    return -x % _P, y, z, -t % _P


def _add(one: _Point, other: _Point) -> _Point:
    # Hisil, Wong, Carter and Dawson 2008, section 3.1: complete, so it also holds for equal points.
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * _D * t1 * t2 % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _sum_of_products(m: int, one: _Point, n: int, other: _Point) -> _Point:
    """The sum of m times one point and n times another, in one pass over the bits of both."""
    choices = (_ZERO, one, other, _add(one, other))
    total = _ZERO
    for position in range(max(m.bit_length(), n.bit_length()) - 1, -1, -1):
        total = _add(total, total)
        choice = (m >> position & 1) | (n >> position & 1) << 1
        if choice:
            total = _add(total, choices[choice])
    return total


def _base() -> _Point:
    point = _decode((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))
    assert point is not None
    return point


_ZERO: _Point = (0, 1, 1, 0)
_BASE = _base()
