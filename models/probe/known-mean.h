/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KNOWN_MEAN_H
#define TUNNELCC_KNOWN_MEAN_H

#include <cstddef>
#include <span>

/**
 * \file
 * Whether a run has gone on for long enough to know its mean goodput: a sequential procedure with a
 * relative precision, as that of Law and Carson, "A sequential procedure for determining the length
 * of a steady-state simulation", Operations Research 27 (1979).
 *
 * The standard error comes from the means of ten batches: goodput remembers, but batches of several
 * cycles do not. Few of them suffice (Schmeiser, "Batch size effects in the analysis of simulation
 * output", Operations Research 30, 1982), and what has not settled makes them differ. The first
 * tenth of the time, when a flow starts, is in no batch. By how much it changes the mean is added
 * to the error.
 *
 * A run that may end at each of many looks ends too often at one that chance favours, and ten
 * batches are not quite independent. So each look has a confidence of 99 %. Of random experiments,
 * less than 5 % end wrongly (docs/pages/tasks/end-early.md).
 */
namespace tunnelcc
{

/// How many samples there are at the first look. \param interval between samples, s
size_t FirstLook(double interval);

/// How many there are at the next look after one.
size_t NextLook(size_t samples);

/// Whether the samples' mean is known to ± `precision`, a part of it.
bool IsMeanKnown(std::span<const double> samples, double precision);

} // namespace tunnelcc

#endif // TUNNELCC_KNOWN_MEAN_H
