/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * A relay's carrier over sockets of this project's TCP, on devices and the simulator of ns-3.
 */
#include "interop/tunnel-application.h"
#include "socket/linux-tcp-socket-factory.h"
#include "support/specs.h"

#include "ns3/global-value.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <string>

namespace tunnelcc
{

namespace
{

/// Bytes of a transfer through a relay.
struct Relayed
{
    uint64_t application; //!< that arrived
    uint64_t carrier;     //!< that the carrier's socket took
};

/// Send `bytes` over a link of 10 Mbit/s and 20 ms. \param protocol type of the socket factory
Relayed
Transfer(uint64_t bytes, bool isTls, const std::string& protocol)
{
    ns3::NodeContainer hosts(2);
    ns3::InternetStackHelper().Install(hosts);
    LinuxTcpHelper().Install(hosts);
    ns3::PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", ns3::StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", ns3::StringValue("20ms"));
    ns3::Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(link.Install(hosts));

    const ns3::AddressValue address(ns3::InetSocketAddress("10.0.0.2", 443));
    const ns3::TypeIdValue type(ns3::TypeId::LookupByName(protocol));
    auto client = ns3::CreateObject<TunnelApplication>();
    client->SetClient(MakeRelay(isTls));
    client->SetAttribute("Remote", address);
    client->SetAttribute("MaxBytes", ns3::UintegerValue(bytes));
    client->SetAttribute("Protocol", type);
    hosts.Get(0)->AddApplication(client);
    auto server = ns3::CreateObject<TunnelApplication>();
    server->SetServer(MakeRelay(isTls), client);
    server->SetAttribute("Local", address);
    server->SetAttribute("Protocol", type);
    hosts.Get(1)->AddApplication(server);
    ns3::Simulator::Stop(ns3::Seconds(20));
    ns3::Simulator::Run();
    const Relayed relayed{server->ReceivedBytes(), client->CarrierBytes()};
    ns3::Simulator::Destroy();
    return relayed;
}

class RelayTest : public ns3::TestCase
{
  public:
    explicit RelayTest(bool isTls)
        : ns3::TestCase(std::string("A relay over ") + (isTls ? "wss" : "ws") +
                        " carries as many bytes over our sockets as over those of ns-3"),
          m_isTls(isTls)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 2'000'000;
        ns3::GlobalValue::Bind("SimulatorImplementationType",
                               ns3::StringValue("ns3::DefaultSimulatorImpl"));
        const Relayed ours = Transfer(BYTES, m_isTls, "tunnelcc::LinuxTcpSocketFactory");
        const Relayed stock = Transfer(BYTES, m_isTls, "ns3::TcpSocketFactory");
        NS_TEST_EXPECT_MSG_EQ(ours.application, BYTES, "all arrived");
        NS_TEST_EXPECT_MSG_EQ(stock.application, BYTES, "all arrived over stock sockets");
        const auto expected = static_cast<double>(stock.carrier);
        NS_TEST_EXPECT_MSG_EQ_TOL(ours.carrier, expected, 0.001 * expected, "on the carrier");
    }

    void DoTeardown() override
    {
        ns3::Simulator::Destroy();
    }

    bool m_isTls;
};

class RelayTestSuite : public ns3::TestSuite
{
  public:
    RelayTestSuite()
        : ns3::TestSuite("tunnelcc-socket-relay", Type::UNIT)
    {
        AddTestCase(new RelayTest(false));
        AddTestCase(new RelayTest(true));
    }
};

RelayTestSuite g_relayTestSuite;

} // namespace

} // namespace tunnelcc
