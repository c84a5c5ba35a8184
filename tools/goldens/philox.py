"""The project's counter-based random numbers (src/base/random.h) in numpy, so that weights and inputs need not be stored."""
import numpy as np

INIT, TEST = 1, 8  # RandomPurpose
MASK = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def hash_text(text):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def random_bits(key, counter, high=0):
    """Philox 4x32-10 for an array of counters: four arrays of 32-bit words, held in 64 bits."""
    counter = np.asarray(counter, dtype=np.uint64)
    c = [counter & MASK, counter >> SHIFT, np.full_like(counter, high & 0xFFFFFFFF), np.full_like(counter, high >> 32)]
    k0, k1 = key
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> SHIFT) ^ c[1] ^ np.uint64(k0), p1 & MASK, (p0 >> SHIFT) ^ c[3] ^ np.uint64(k1), p0 & MASK]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def random_key(seed, purpose, stream):
    """The key of one stream; `stream` is a number or a name."""
    number = hash_text(stream) if isinstance(stream, str) else stream
    bits = random_bits((seed & 0xFFFFFFFF, seed >> 32), [number], purpose)
    return int(bits[0][0]), int(bits[1][0])


def random_uniform(key, count):
    """Numbers 0 .. count-1 of the stream in [0, 1), float32."""
    words = random_bits(key, np.arange(count, dtype=np.uint64))[0]
    return (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def random_normal(key, count):
    """Numbers 0 .. count-1 of the stream, normally distributed, float32."""
    bits = random_bits(key, np.arange(count, dtype=np.uint64))
    first, second = (word.astype(np.float64) * 2.0**-32 for word in bits[:2])
    return (np.sqrt(-2.0 * np.log(1.0 - first)) * np.cos(2.0 * np.pi * second)).astype(np.float32)
