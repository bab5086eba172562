/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "random-stream.h"

#include <cstddef>

namespace tunnelcc
{

namespace
{

/// Steps of a component of the generator as a matrix, of unsigned numbers below its modulus: the
/// product of two of them has 64 bits.
using Matrix = std::array<std::array<uint64_t, 3>, 3>;

Matrix
Square(const Matrix& matrix, uint64_t modulus)
{
    Matrix square{};
    for (size_t row = 0; row < 3; ++row)
    {
        for (size_t column = 0; column < 3; ++column)
        {
            for (size_t i = 0; i < 3; ++i)
            {
                square[row][column] =
                    (square[row][column] + matrix[row][i] * matrix[i][column] % modulus) % modulus;
            }
        }
    }
    return square;
}

void
Multiply(const Matrix& matrix, std::array<int64_t, 3>& state, uint64_t modulus)
{
    std::array<int64_t, 3> product{};
    for (size_t row = 0; row < 3; ++row)
    {
        uint64_t sum = 0;
        for (size_t i = 0; i < 3; ++i)
        {
            sum += matrix[row][i] * static_cast<uint64_t>(state[i]) % modulus;
        }
        product[row] = static_cast<int64_t>(sum % modulus);
    }
    state = product;
}

} // namespace

/// The steps of 2^i numbers, for every i that a jump may need.
struct RandomStream::Jumps
{
    static constexpr size_t POWERS = 127 + 64;

    std::array<Matrix, POWERS> first;
    std::array<Matrix, POWERS> second;

    Jumps()
    {
        first[0] = {{{0, 1, 0}, {0, 0, 1}, {M1 - A13, A12, 0}}};
        second[0] = {{{0, 1, 0}, {0, 0, 1}, {M2 - A23, 0, A21}}};
        for (size_t i = 1; i < POWERS; ++i)
        {
            first[i] = Square(first[i - 1], M1);
            second[i] = Square(second[i - 1], M2);
        }
    }
};

RandomStream::RandomStream(uint32_t seed, uint64_t stream, uint64_t substream)
{
    m_first.fill(seed);
    m_second.fill(seed);
    Jump(stream, 127);
    Jump(substream, 76);
}

void
RandomStream::Jump(uint64_t count, size_t power)
{
    static const Jumps jumps;
    for (; count > 0; count >>= 1, ++power)
    {
        if (count & 1)
        {
            Multiply(jumps.first[power], m_first, M1);
            Multiply(jumps.second[power], m_second, M2);
        }
    }
}

} // namespace tunnelcc
