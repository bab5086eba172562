/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MODEL_VERSION_H
#define TUNNELCC_MODEL_VERSION_H

#include <string>

namespace tunnelcc
{

/**
 * The version of the models, a part of the identity of every stored run.
 *
 * Raise it by one with every change after which some experiment has another result. The golden runs
 * (tests/golden) record the version that made them, and `pytest --update` does not write a changed
 * result under the same version.
 */
inline constexpr int MODEL_VERSION = 12;

/**
 * The version of the models that were compiled: `MODEL_VERSION`, and after a `+`, a digest of their
 * source without comments, so that runs of changed models are runs of their own. A release
 * (`TUNNELCC_RELEASE`) has no digest.
 */
std::string ModelVersion();

} // namespace tunnelcc

#endif // TUNNELCC_MODEL_VERSION_H
