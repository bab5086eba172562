/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qlog.h"

#include "event/time-units.h"
#include "packet-image.h"

#include <charconv>

namespace tunnelcc
{

namespace
{

constexpr std::string_view RECORD_SEPARATOR = "\x1e";

} // namespace

Qlog::Qlog(const std::string& name, uint64_t limit, const Subject& subject)
    : m_file(name, limit)
{
    Add(RECORD_SEPARATOR);
    Add(R"({"qlog_format":"JSON-SEQ","qlog_version":"0.3","title":")");
    Add(subject.title);
    Add(R"(","trace":{"common_fields":{"time_format":"relative","reference_time":0,)"
        R"("protocol_type":[")");
    Add(subject.protocol);
    Add(R"("]},"vantage_point":{"type":")");
    Add(subject.isClient ? "client" : "server");
    Add("\"}}}\n");
    m_file.EndRecord();
}

void
Qlog::AddMetrics(int64_t now, const Metrics& metrics)
{
    if (metrics == m_metrics)
    {
        return;
    }
    m_metrics = metrics;
    Begin(now, "recovery:metrics_updated");
    Add(R"({"congestion_window":)");
    Add(metrics.window);
    Add(R"(,"bytes_in_flight":)");
    Add(metrics.inFlight);
    if (metrics.smoothed > 0)
    {
        Add(R"(,"smoothed_rtt":)");
        AddMs(metrics.smoothed);
        Add(R"(,"latest_rtt":)");
        AddMs(metrics.latest);
        Add(R"(,"min_rtt":)");
        AddMs(metrics.least);
    }
    if (metrics.threshold)
    {
        Add(R"(,"ssthresh":)");
        Add(*metrics.threshold);
    }
    if (metrics.pacingRate)
    {
        Add(R"(,"pacing_rate":)");
        Add(8 * *metrics.pacingRate);
    }
    Add("}");
    End();
}

void
Qlog::AddLoss(int64_t now, uint64_t number)
{
    Begin(now, "recovery:packet_lost");
    Add(R"({"header":{"packet_type":"1RTT","packet_number":)");
    Add(number);
    Add("}}");
    End();
}

void
Qlog::Begin(int64_t now, std::string_view event)
{
    Add(RECORD_SEPARATOR);
    Add(R"({"time":)");
    AddMs(now);
    Add(R"(,"name":")");
    Add(event);
    Add(R"(","data":)");
}

void
Qlog::End()
{
    Add("}\n");
    m_file.EndRecord();
}

void
Qlog::Add(std::string_view text)
{
    ByteWriter(m_file.Buffer()).Text(text);
}

void
Qlog::Add(uint64_t number)
{
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    Add(std::string_view(digits, end.ptr));
}

void
Qlog::AddMs(int64_t time)
{
    // Milliseconds with the whole nanoseconds behind the point.
    Add(static_cast<uint64_t>(time / MS));
    char fraction[8] = ".000000";
    int64_t left = time % MS;
    for (int i = 6; i > 0; --i, left /= 10)
    {
        fraction[i] = static_cast<char>('0' + left % 10);
    }
    Add(std::string_view(fraction, 7));
}

} // namespace tunnelcc
