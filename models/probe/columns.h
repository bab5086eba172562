/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_COLUMNS_H
#define TUNNELCC_COLUMNS_H

#include "experiment-result.h"
#include "spec/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/**
 * \file
 * A result as one array for each measurement, and what each of them is.
 */
namespace tunnelcc
{

/// A measurement: a row of a table, with the kind of the table's struct.
struct MeasurementInfo
{
    Descriptor what;        //!< a count is a whole number in each run
    std::string dimensions; //!< of its array, with spaces between them
    Span span;
};

/// All values of a measurement, the last dimension fastest. NaN: something has no value.
struct Column
{
    std::string_view name;
    std::vector<size_t> shape;
    std::vector<double> values;
};

/// The same of text.
struct TextColumn
{
    std::string_view name;
    std::vector<size_t> shape;
    std::vector<std::string> values;
};

/// A result as arrays. Measurements that nothing in the run has are left out.
struct Columns
{
    std::vector<Column> numbers;
    std::vector<TextColumn> texts;
    std::vector<std::vector<uint32_t>> flowLegs; //!< FlowResult::legs of each flow
    /// The members of LimitTimes, for each flow and each of its streams on shared carriers
    /// (FlowResult::channels).
    std::vector<std::vector<std::vector<double>>> flowChannels;
    std::vector<uint32_t> packetTunnels; //!< the tunnels that carry packets
};

/// Every measurement that a run may have.
std::vector<MeasurementInfo> ListMeasurements();

/// Return a result as arrays.
Columns ToColumns(const ExperimentResult& result);

/// Write a result as JSON: name → list, with a list for each dimension.
std::string FormatResult(const ExperimentResult& result);

} // namespace tunnelcc

#endif // TUNNELCC_COLUMNS_H
