#!/usr/bin/env python3
"""Writes wharf/cudashim/curand/joe_kuo.bin: the polynomials and first direction numbers of 20,000 dimensions of Sobol's
sequence that Stephen Joe and Frances Y. Kuo recommend (new-joe-kuo-6), as PyTorch has them. Run with a Python that has
PyTorch; what it writes is in the repository.

A stream of bits, lowest first. For each dimension from the second on: the degree s (5 bits), the polynomial's
coefficients between the highest and the lowest (s - 1), and for i = 1 … s the number m_i but for its lowest bit, which is
one (i - 1).
"""
import os
import sys

DIMENSIONS = 20000
BITS = 30  # of PyTorch's vectors


def times(a, b, polynomial, degree):
    product = 0
    while b:
        if b & 1:
            product ^= a
        b >>= 1
        a <<= 1
        if a >> degree:
            a ^= polynomial
    return product


def power(exponent, polynomial, degree):
    result, base = 1, 2 if degree > 1 else 1
    while exponent:
        if exponent & 1:
            result = times(result, base, polynomial, degree)
        base = times(base, base, polynomial, degree)
        exponent >>= 1
    return result


def primitive_polynomials():
    """Over GF(2), by degree and then by value."""
    degree = 0
    while True:
        degree += 1
        order = 2 ** degree - 1
        primes = [p for p in range(2, order + 1) if order % p == 0 and all(p % q for q in range(2, int(p ** 0.5) + 1))]
        for polynomial in range(2 ** degree + 1, 2 ** (degree + 1), 2):
            if power(order, polynomial, degree) == 1 and all(power(order // p, polynomial, degree) != 1 for p in primes):
                yield degree, polynomial


def main():
    import torch
    vectors = torch.quasirandom.SobolEngine(DIMENSIONS, scramble=False).sobolstate.tolist()
    bits, count = 0, 0
    stream = bytearray()

    def put(value, width):
        nonlocal bits, count
        bits |= value << count
        count += width
        while count >= 8:
            stream.append(bits & 255)
            bits >>= 8
            count -= 8

    polynomials = primitive_polynomials()
    for dimension in range(1, DIMENSIONS):
        degree, polynomial = next(polynomials)
        numbers = [vectors[dimension][i] >> (BITS - 1 - i) for i in range(BITS)]
        for k in range(degree, BITS):  # they follow from the first ones
            number = numbers[k - degree] ^ (numbers[k - degree] << degree)
            for i in range(1, degree):
                if polynomial >> (degree - i) & 1:
                    number ^= numbers[k - i] << i
            if number != numbers[k]:
                sys.exit(f'dimension {dimension + 1}: PyTorch has another polynomial')
        put(degree, 5)
        put(polynomial >> 1 & (1 << (degree - 1)) - 1, degree - 1)
        for i in range(degree):
            put(numbers[i] >> 1, i)
    put(0, -count % 8)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'wharf', 'cudashim', 'curand', 'joe_kuo.bin')
    with open(path, 'wb') as file:
        file.write(stream)


main()
