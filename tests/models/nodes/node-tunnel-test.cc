/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Tunnels of the catalogue between nodes of ns-3: bytes arrive unchanged, and packets outside have
 * the sizes that the catalogue's layers give.
 */
#include "nodes/tunnel-catalogue.h"
#include "nodes/tunnel-helper.h"
#include "socket/linux-tcp-socket-factory.h"
#include "spec/spec-text.h"
#include "support/test-case.h"

#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tunnelcc
{

namespace
{

using ns3::InetSocketAddress;
using ns3::Ipv4Address;
using ns3::Ptr;
using ns3::Seconds;
using ns3::Simulator;
using ns3::Socket;

TEST_SUITE("tunnelcc-nodes-tunnel");

constexpr uint16_t PORT = 5001;
constexpr uint16_t RELAY_PORT = 1080;
constexpr uint32_t PPP = 2; // bytes of framing on ns-3's point-to-point links

bool
IsRelay(const std::string& name)
{
    return TunnelCatalogue().at(name).find(R"("kind":"relay")") != std::string_view::npos;
}

/// A byte of a stream, which depends on where it is.
uint8_t
ByteAt(uint64_t offset)
{
    return static_cast<uint8_t>(offset ^ (offset >> 8) ^ (offset >> 16));
}

/// Two nodes with a tunnel between them, over a link of 20 Mbit/s and 20 ms.
class TunnelledNodes
{
  public:
    /// \param helper of the tunnel  \param isRelay what it is
    TunnelledNodes(const TunnelHelper& helper, bool isRelay)
        : m_nodes(2)
    {
        ns3::InternetStackHelper().Install(m_nodes);
        LinuxTcpHelper().Install(m_nodes);
        ns3::PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", ns3::StringValue("20Mbps"));
        link.SetChannelAttribute("Delay", ns3::StringValue("10ms"));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("1000p"));
        const auto devices = link.Install(m_nodes);
        ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
        addresses.Assign(devices);
        devices.Get(0)->TraceConnectWithoutContext(
            "MacTx",
            ns3::MakeCallback(&TunnelledNodes::OnSent, this));
        tunnel = helper.Install(Client(), Server(), Ipv4Address("10.0.0.2"));
        entry = InetSocketAddress("10.8.0.2", PORT);
        if (isRelay)
        {
            tunnel->Forward(RELAY_PORT, InetSocketAddress("10.0.0.2", PORT));
            entry = InetSocketAddress("127.0.0.1", RELAY_PORT);
        }
        else
        {
            ns3::Ipv4AddressHelper("10.8.0.0", "255.255.255.0").Assign(tunnel->GetDevices());
        }
    }

    ~TunnelledNodes()
    {
        Simulator::Destroy();
    }

    TunnelledNodes(const TunnelledNodes&) = delete;
    TunnelledNodes& operator=(const TunnelledNodes&) = delete;

    Ptr<ns3::Node> Client() const
    {
        return m_nodes.Get(0);
    }

    Ptr<ns3::Node> Server() const
    {
        return m_nodes.Get(1);
    }

    Ptr<NodeTunnel> tunnel;
    InetSocketAddress entry{PORT};      //!< where an application of the client connects to
    std::map<uint32_t, uint32_t> sizes; //!< of the client's IP packets: how many there are

  private:
    void OnSent(Ptr<const ns3::Packet> packet)
    {
        ++sizes[packet->GetSize() - PPP];
    }

    ns3::NodeContainer m_nodes;
};

/// Sends bytes through a tunnel and back, and compares what arrives.
class Echo
{
  public:
    Echo(TunnelledNodes& nodes, uint64_t bytes)
        : m_bytes(bytes)
    {
        const auto factory = LinuxTcpSocketFactory::GetTypeId();
        m_listener = Socket::CreateSocket(nodes.Server(), factory);
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        m_listener->Listen();
        m_listener->SetAcceptCallback(
            ns3::MakeNullCallback<bool, Ptr<Socket>, const ns3::Address&>(),
            ns3::MakeCallback(&Echo::OnAccepted, this));
        m_client = Socket::CreateSocket(nodes.Client(), factory);
        m_client->SetConnectCallback(ns3::MakeCallback(&Echo::OnRoom, this),
                                     ns3::MakeCallback(&Echo::OnFailed, this));
        m_client->SetCloseCallbacks(ns3::MakeCallback(&Echo::OnClosed, this),
                                    ns3::MakeCallback(&Echo::OnFailed, this));
        m_client->SetSendCallback(ns3::MakeCallback(&Echo::OnSpace, this));
        m_client->SetRecvCallback(ns3::MakeCallback(&Echo::OnData, this));
        Simulator::Schedule(ns3::MilliSeconds(500), &Echo::Connect, this, nodes.entry);
    }

    uint64_t received{0}; //!< bytes that came back as they were
    uint64_t wrong{0};    //!< other bytes
    bool hasFailed{false};
    bool isClosed{false}; //!< the other end has closed

  private:
    void Connect(InetSocketAddress to)
    {
        m_client->Connect(to);
    }

    void OnRoom(Ptr<Socket> /* socket */)
    {
        OnSpace(m_client, 0);
    }

    void OnSpace(Ptr<Socket> /* socket */, uint32_t /* bytes */)
    {
        while (m_sent < m_bytes && m_client->GetTxAvailable() > 0)
        {
            std::vector<uint8_t> bytes(std::min<uint64_t>(10'000, m_bytes - m_sent));
            for (size_t i = 0; i < bytes.size(); ++i)
            {
                bytes[i] = ByteAt(m_sent + i);
            }
            const int sent = m_client->Send(bytes.data(), static_cast<uint32_t>(bytes.size()), 0);
            if (sent <= 0)
            {
                return;
            }
            m_sent += static_cast<uint32_t>(sent);
        }
    }

    void OnData(Ptr<Socket> socket)
    {
        while (const auto packet = socket->Recv())
        {
            std::vector<uint8_t> bytes(packet->GetSize());
            if (bytes.empty())
            {
                return;
            }
            packet->CopyData(bytes.data(), packet->GetSize());
            for (const uint8_t byte : bytes)
            {
                ++(byte == ByteAt(received + wrong) ? received : wrong);
            }
            if (received + wrong == m_bytes)
            {
                m_client->Close();
            }
        }
    }

    void OnFailed(Ptr<Socket> /* socket */)
    {
        hasFailed = true;
    }

    void OnClosed(Ptr<Socket> /* socket */)
    {
        isClosed = true;
    }

    void OnAccepted(Ptr<Socket> socket, const ns3::Address& /* from */)
    {
        m_server = socket;
        socket->SetRecvCallback(ns3::MakeCallback(&Echo::Return, this));
        socket->SetSendCallback(ns3::MakeCallback(&Echo::ReturnRest, this));
        socket->SetCloseCallbacks(ns3::MakeCallback(&Echo::OnClientClosed, this),
                                  ns3::MakeCallback(&Echo::OnClientClosed, this));
    }

    void Return(Ptr<Socket> socket)
    {
        while (m_refused || socket->GetRxAvailable() > 0)
        {
            m_refused = m_refused ? m_refused : socket->Recv(10'000, 0);
            if (socket->Send(m_refused) < 0)
            {
                return; // until there is room
            }
            m_refused = nullptr;
        }
    }

    void ReturnRest(Ptr<Socket> socket, uint32_t /* bytes */)
    {
        Return(socket);
    }

    void OnClientClosed(Ptr<Socket> socket)
    {
        socket->Close();
    }

    const uint64_t m_bytes;
    uint64_t m_sent{0};
    Ptr<Socket> m_listener;
    Ptr<Socket> m_client;
    Ptr<Socket> m_server;
    Ptr<ns3::Packet> m_refused;
};

class ContentsTest : public ns3::TestCase
{
  public:
    explicit ContentsTest(std::string_view name)
        : ns3::TestCase("Through " + std::string(name) + ", bytes arrive unchanged"),
          m_name(name)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 200'000;
        TunnelledNodes nodes(TunnelHelper(m_name), IsRelay(m_name));
        Echo echo(nodes, BYTES);
        Simulator::Stop(Seconds(8));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(echo.received, BYTES, "right bytes");
        NS_TEST_EXPECT_MSG_EQ(echo.wrong, 0, "wrong bytes");
        NS_TEST_EXPECT_MSG_EQ(echo.hasFailed, false, "failed");
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
    }

    const std::string m_name;
};

/// Datagrams of a constant size through a tunnel that carries packets.
class SizeTest : public ns3::TestCase
{
  public:
    explicit SizeTest(std::string_view name)
        : ns3::TestCase("Packets outside " + std::string(name) + " are as long as its layers say"),
          m_name(name)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t COUNT = 20;
        constexpr uint32_t INNER = 1028; // a payload of 1000 bytes in UDP and IP
        TunnelledNodes nodes(TunnelHelper(m_name), false);
        auto socket = Socket::CreateSocket(nodes.Client(), ns3::UdpSocketFactory::GetTypeId());
        socket->Bind();
        for (uint32_t i = 0; i < COUNT; ++i)
        {
            Simulator::Schedule(ns3::MilliSeconds(500 + 20 * i),
                                ns3::MakeCallback(&SizeTest::Send, this).Bind(socket));
        }
        auto server = Socket::CreateSocket(nodes.Server(), ns3::UdpSocketFactory::GetTypeId());
        server->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        server->SetRecvCallback(ns3::MakeCallback(&SizeTest::OnReadable, this));
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        const NodeTunnelSpec spec = ParseNodeTunnel(TunnelCatalogue().at(m_name));
        const auto& outer = std::get<DatagramTunnelSpec>(spec.tunnel).outer.at(INNER);
        NS_TEST_ASSERT_MSG_EQ(outer.size(), 1, "one packet");
        NS_TEST_EXPECT_MSG_EQ(nodes.sizes[outer.front()], COUNT, "packets of that size");
        NS_TEST_EXPECT_MSG_EQ(m_arrived, COUNT, "packets that arrived");
    }

    void Send(Ptr<Socket> socket)
    {
        socket->SendTo(ns3::Create<ns3::Packet>(1000), 0, InetSocketAddress("10.8.0.2", PORT));
    }

    void OnReadable(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
            ++m_arrived;
        }
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
    }

    const std::string m_name;
    uint32_t m_arrived{0};
};

/// What is wrong is told.
class RefusalTest : public ns3::TestCase
{
  public:
    RefusalTest()
        : ns3::TestCase("A tunnel that cannot be is refused with a message")
    {
    }

  private:
    template <class Call>
    void Expect(const std::string& part, Call call)
    {
        std::string message;
        try
        {
            call();
        }
        catch (const std::invalid_argument& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find(part), std::string::npos, message << " has " << part);
    }

    void DoRun() override
    {
        const Ipv4Address address("10.0.0.2");
        Expect("wireguard", [] { TunnelHelper("wiregard"); });
        Expect("cannot be read", [] { TunnelHelper("/nowhere/tunnel.json"); });
        Expect("expected one of the members", [] { TunnelHelper(R"({"nam":"x"})"); });
        Expect("Protokol",
               [] { TunnelHelper("wireguard").SetAttribute("Protokol", ns3::StringValue("")); });
        Expect("Set()", [] { ns3::CreateObject<NodeTunnel>()->GetDevices(); });
        const TunnelHelper wireguard("wireguard");
        const TunnelHelper relay("gost-relay-ws");
        const auto node = ns3::CreateObject<ns3::Node>();
        Expect("two nodes", [&] { wireguard.Install(node, node, address); });
        ns3::NodeContainer bare(2);
        Expect("IPv4 or IPv6",
               [&] { wireguard.Install(bare.Get(0), bare.Get(1), ns3::Address()); });
        const auto alone = relay.Install(bare.Get(0), bare.Get(1), address);
        Expect("a relay", [&] { alone->GetDevices(); });
        Expect("cannot listen",
               [&] { alone->Forward(RELAY_PORT, InetSocketAddress(address, PORT)); });
        Expect("target", [&] { alone->Forward(RELAY_PORT, ns3::Address()); });
        {
            TunnelledNodes nodes(relay, true);
            Expect("port 1080",
                   [&] { nodes.tunnel->Forward(RELAY_PORT, InetSocketAddress(address, PORT)); });
        }
        TunnelledNodes nodes(wireguard, false);
        Expect("expected a relay",
               [&] { nodes.tunnel->Forward(RELAY_PORT, InetSocketAddress(address, PORT)); });
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
    }
};

/// A relay whose target does not answer, and one that stops.
class BreakTest : public ns3::TestCase
{
  public:
    explicit BreakTest(bool stops)
        : ns3::TestCase(stops ? "A tunnel that stops closes its connections"
                              : "A target that refuses closes the application's connection"),
          m_stops(stops)
    {
    }

  private:
    void DoRun() override
    {
        TunnelledNodes nodes(TunnelHelper("gost-relay-wss"), true);
        if (!m_stops)
        {
            constexpr uint16_t OTHER = 1081;
            nodes.tunnel->Forward(OTHER, InetSocketAddress("10.0.0.2", 9));
            nodes.entry = InetSocketAddress("127.0.0.1", OTHER);
        }
        Echo echo(nodes, 20'000'000);
        nodes.tunnel->SetStopTime(m_stops ? Seconds(2) : Seconds(4));
        Simulator::Stop(Seconds(3));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((echo.isClosed || echo.hasFailed), true, "the application is told");
        NS_TEST_EXPECT_MSG_EQ((echo.received > 0), m_stops, "bytes came before");
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
    }

    const bool m_stops;
};

/// Carriers over sockets of stock ns-3 carry as much as over ours.
class StockTest : public ns3::TestCase
{
  public:
    explicit StockTest(const std::string& name)
        : ns3::TestCase("The carrier of " + name + " may be a socket of stock ns-3"),
          m_name(name)
    {
    }

  private:
    uint64_t Carry(const std::string& protocol)
    {
        constexpr uint64_t BYTES = 2'000'000;
        TunnelHelper helper(m_name);
        helper.SetAttribute("Protocol", ns3::TypeIdValue(ns3::TypeId::LookupByName(protocol)));
        TunnelledNodes nodes(helper, IsRelay(m_name));
        Echo echo(nodes, BYTES);
        Simulator::Stop(Seconds(20));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(echo.received, BYTES, "right bytes over " << protocol);
        uint64_t sent = 0;
        for (const auto& [size, count] : nodes.sizes)
        {
            sent += uint64_t{size} * count;
        }
        return sent;
    }

    void DoRun() override
    {
        ns3::Config::SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(1448));
        const auto ours = Carry("tunnelcc::LinuxTcpSocketFactory");
        const auto stock = static_cast<double>(Carry("ns3::TcpSocketFactory"));
        NS_TEST_EXPECT_MSG_EQ_TOL(ours, stock, 0.03 * stock, "IP bytes of the client");
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
        ns3::Config::Reset();
    }

    const std::string m_name;
};

ADD_CASES
{
    for (const auto& [name, text] : TunnelCatalogue())
    {
        AddCase(new ContentsTest(name));
    }
    for (const char* name : {"wireguard", "openvpn-udp", "ipsec-esp", "vxlan", "ethudp"})
    {
        AddCase(new SizeTest(name));
    }
    AddCase(new RefusalTest());
    AddCase(new BreakTest(false));
    AddCase(new BreakTest(true));
    AddCase(new StockTest("gost-relay-ws"));
    AddCase(new StockTest("gost-relay-wss"));
    AddCase(new StockTest("openvpn-tcp"));
}

} // namespace

} // namespace tunnelcc
