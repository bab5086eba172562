/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * The TCP socket for ns-3's applications: contents, closing, errors, on ns-3's default simulator.
 */
#include "event/time-units.h"
#include "interop/ns3-simulator.h"
#include "socket/linux-tcp-socket-factory.h"
#include "support/test-case.h"

#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/error-model.h"
#include "ns3/global-value.h"
#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv6-address-helper.h"
#include "ns3/node-container.h"
#include "ns3/object-ptr-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/pointer.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tunnelcc
{

namespace
{

TEST_SUITE("tunnelcc-socket");

// Names of ours come first.
using ns3::Address;
using ns3::DynamicCast;
using ns3::Ptr;
using ns3::Simulator;
using ns3::Socket;
using ns3::StringValue;
using ns3::UintegerValue;

constexpr uint16_t PORT = 5001;

/// The byte of the test's stream at an offset.
uint8_t
ByteAt(uint64_t offset)
{
    return static_cast<uint8_t>(offset * 131 + offset / 251);
}

/// Two hosts and a link of 10 Mbit/s and 20 ms, on ns-3's default simulator.
class Hosts
{
  public:
    explicit Hosts(bool isIpv6 = false, double loss = 0)
        : m_isIpv6(isIpv6)
    {
        nodes.Create(2);
        ns3::InternetStackHelper().Install(nodes);
        ns3::PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
        link.SetChannelAttribute("Delay", StringValue("20ms"));
        devices = link.Install(nodes);
        if (isIpv6)
        {
            ns3::Ipv6AddressHelper helper;
            helper.SetBase(ns3::Ipv6Address("2001:db8::"), ns3::Ipv6Prefix(64));
            m_address6 = helper.Assign(devices).GetAddress(1, 1);
        }
        else
        {
            ns3::Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);
        }
        for (uint32_t i = 0; loss > 0 && i < 2; ++i)
        {
            auto errors = ns3::CreateObject<ns3::RateErrorModel>();
            errors->SetUnit(ns3::RateErrorModel::ERROR_UNIT_PACKET);
            errors->SetRate(loss);
            devices.Get(i)->SetAttribute("ReceiveErrorModel", ns3::PointerValue(errors));
        }
        LinuxTcpHelper().Install(nodes);
    }

    /// A socket. \param type of the factory; ours unless it is told
    Ptr<Socket> Make(uint32_t node, const std::string& type = "tunnelcc::LinuxTcpSocketFactory")
    {
        return Socket::CreateSocket(nodes.Get(node), ns3::TypeId::LookupByName(type));
    }

    Address Any() const
    {
        return m_isIpv6 ? Address(ns3::Inet6SocketAddress(ns3::Ipv6Address::GetAny(), PORT))
                        : Address(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), PORT));
    }

    Address Server(uint16_t port = PORT) const
    {
        return m_isIpv6 ? Address(ns3::Inet6SocketAddress(m_address6, port))
                        : Address(ns3::InetSocketAddress("10.0.0.2", port));
    }

    /// Number of sockets that a node has bound.
    uint32_t Bound(uint32_t node) const
    {
        ns3::ObjectPtrContainerValue sockets;
        nodes.Get(node)->GetObject<LinuxTcpSocketFactory>()->GetAttribute("SocketList", sockets);
        return static_cast<uint32_t>(sockets.GetN());
    }

    ns3::NodeContainer nodes;
    ns3::NetDeviceContainer devices;

  private:
    bool m_isIpv6;
    ns3::Ipv6Address m_address6;
};

/// One end of a connection: writes a stream, reads another, and checks it.
class Peer
{
  public:
    /// \param bytes to write  \param written at once
    Peer(uint64_t bytes, uint32_t written)
        : m_left(bytes),
          m_size(written)
    {
    }

    void Use(Ptr<Socket> it)
    {
        socket = it;
        socket->SetSendCallback([this](Ptr<Socket>, uint32_t) { Write(); });
        socket->SetRecvCallback([this](Ptr<Socket>) { Read(); });
        socket->SetConnectCallback([this](Ptr<Socket>) { isOpen = true; },
                                   [this](Ptr<Socket>) { isRefused = true; });
        socket->SetCloseCallbacks([this](Ptr<Socket>) { isClosedByPeer = true; },
                                  [this](Ptr<Socket>) { isBroken = true; });
    }

    /// Connect once the simulation runs: before, nodes have no queues.
    void Connect(const Address& address)
    {
        Simulator::ScheduleNow([this, address] { socket->Connect(address); });
    }

    void Listen(Ptr<Socket> listener, const Address& address)
    {
        m_listener = listener;
        m_listener->Bind(address);
        m_listener->Listen();
        m_listener->SetAcceptCallback(ns3::MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      ns3::Callback<void, Ptr<Socket>, const Address&>(
                                          [this](Ptr<Socket> it, const Address&) {
                                              Use(it);
                                              Write();
                                          }));
    }

    void Write()
    {
        while (m_left > 0)
        {
            std::vector<uint8_t> bytes(std::min<uint64_t>(m_left, m_size));
            for (size_t i = 0; i < bytes.size(); ++i)
            {
                bytes[i] = ByteAt(m_written + i);
            }
            if (socket->Send(bytes.data(), static_cast<uint32_t>(bytes.size()), 0) < 0)
            {
                return;
            }
            m_written += bytes.size();
            m_left -= bytes.size();
        }
        if (closesAtEnd)
        {
            socket->Close();
        }
    }

    void Read()
    {
        while (reads)
        {
            const auto packet = socket->Recv(m_size + 7, 0);
            if (!packet || packet->GetSize() == 0)
            {
                return;
            }
            std::vector<uint8_t> bytes(packet->GetSize());
            packet->CopyData(bytes.data(), packet->GetSize());
            for (uint8_t byte : bytes)
            {
                isIntact &= byte == ByteAt(received++);
            }
        }
    }

    Ptr<Socket> socket;
    uint64_t received{0};
    bool closesAtEnd{true};
    bool reads{true};
    bool isIntact{true};
    bool isOpen{false};
    bool isRefused{false};
    bool isClosedByPeer{false};
    bool isBroken{false};

  private:
    uint64_t m_left;
    uint64_t m_written{0};
    uint32_t m_size;
    Ptr<Socket> m_listener;
};

/// A test on ns-3's default simulator, or on ours.
class SocketTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  protected:
    static void RunUntil(double seconds)
    {
        Simulator::Stop(ns3::Seconds(seconds) - Simulator::Now());
        Simulator::Run();
    }

  private:
    void DoSetup() override
    {
        ns3::GlobalValue::Bind("SimulatorImplementationType",
                               StringValue("ns3::DefaultSimulatorImpl"));
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
    }
};

class ContentsTest : public SocketTest
{
  public:
    ContentsTest(bool isIpv6, double loss, uint32_t size, bool isOurs)
        : SocketTest(std::string("Contents arrive both ways, over IPv") + (isIpv6 ? "6" : "4") +
                     (isOurs ? ", on our simulator" : "") + ", written " + std::to_string(size) +
                     " bytes at a time, " + std::to_string(100 * loss) + " % lost"),
          m_isIpv6(isIpv6),
          m_loss(loss),
          m_size(size),
          m_isOurs(isOurs)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t UP = 300'000;
        constexpr uint64_t DOWN = 200'001;
        if (m_isOurs)
        {
            Ns3Simulator::Install();
        }
        Hosts hosts(m_isIpv6, m_loss);
        Peer client(UP, m_size);
        Peer server(DOWN, 2'000);
        server.Listen(hosts.Make(1), hosts.Any());
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server());
        RunUntil(40);
        NS_TEST_EXPECT_MSG_EQ(client.isOpen, true, "open");
        NS_TEST_EXPECT_MSG_EQ(server.received, UP, "bytes to the server");
        NS_TEST_EXPECT_MSG_EQ(client.received, DOWN, "bytes to the client");
        NS_TEST_EXPECT_MSG_EQ(server.isIntact && client.isIntact, true, "unchanged");
        NS_TEST_EXPECT_MSG_EQ(server.isClosedByPeer && client.isClosedByPeer, true, "closed");
        NS_TEST_EXPECT_MSG_EQ(client.isBroken || server.isBroken, false, "without an error");
        RunUntil(200); // TIME-WAIT
        NS_TEST_EXPECT_MSG_EQ(hosts.Bound(0), 0, "the client's port is free");
        NS_TEST_EXPECT_MSG_EQ(hosts.Bound(1), 1, "the listener alone is left");
        NS_TEST_EXPECT_MSG_EQ(client.socket->Send(ns3::Create<ns3::Packet>(1), 0), -1, "closed");
        NS_TEST_EXPECT_MSG_EQ(client.socket->GetErrno(), Socket::ERROR_NOTCONN, "closed");
    }

    bool m_isIpv6;
    double m_loss;
    uint32_t m_size;
    bool m_isOurs;
};

class SlowReaderTest : public SocketTest
{
  public:
    SlowReaderTest()
        : SocketTest("An application that does not read stops the other; reading lets it go on")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 600'000;
        ns3::Config::SetDefault("tunnelcc::LinuxTcpSocket::RcvBufSize", UintegerValue(100'000));
        ns3::Config::SetDefault("tunnelcc::LinuxTcpSocket::SndBufSize", UintegerValue(100'000));
        Hosts hosts;
        Peer client(BYTES, 10'000);
        Peer server(0, 1'000);
        server.reads = false;
        server.closesAtEnd = false;
        server.Listen(hosts.Make(1), hosts.Any());
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server());
        RunUntil(20);
        NS_TEST_EXPECT_MSG_LT(server.socket->GetRxAvailable(), 100'000, "stopped");
        NS_TEST_EXPECT_MSG_GT(server.socket->GetRxAvailable(), 40'000, "after a window");
        NS_TEST_EXPECT_MSG_EQ(client.socket->GetTxAvailable(), 0, "the send buffer is full");
        server.reads = true;
        server.Read();
        RunUntil(60);
        NS_TEST_EXPECT_MSG_EQ(server.received, BYTES, "all");
        NS_TEST_EXPECT_MSG_EQ(server.isIntact, true, "unchanged");
        // What was not read breaks the connection (RFC 2525, section 2.17).
        server.reads = false;
        server.socket->Close();
        ns3::Config::Reset();
    }
};

/// An application that asks how much room there is, and never writes more.
class PoliteWriterTest : public SocketTest
{
  public:
    PoliteWriterTest()
        : SocketTest("A writer that asks GetTxAvailable() is woken when there is room")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 2'000'000;
        Hosts hosts;
        Peer server(0, 10'000);
        server.closesAtEnd = false;
        server.Listen(hosts.Make(1), hosts.Any());
        auto socket = hosts.Make(0);
        uint64_t left = BYTES;
        socket->SetSendCallback([&](Ptr<Socket>, uint32_t) {
            while (left > 0 && socket->GetTxAvailable() > 0)
            {
                const auto size =
                    static_cast<uint32_t>(std::min<uint64_t>(left, socket->GetTxAvailable()));
                NS_TEST_EXPECT_MSG_EQ(socket->Send(ns3::Create<ns3::Packet>(size), 0),
                                      static_cast<int>(size),
                                      "what has room is taken");
                left -= size;
            }
        });
        Simulator::ScheduleNow([&] { socket->Connect(hosts.Server()); });
        RunUntil(5);
        NS_TEST_EXPECT_MSG_EQ(server.received, BYTES, "all in the time that the link needs");
    }
};

class ErrorsTest : public SocketTest
{
  public:
    ErrorsTest()
        : SocketTest("Wrong calls fail with an errno")
    {
    }

  private:
    void Expect(int result, Ptr<Socket> socket, Socket::SocketErrno why, const char* what)
    {
        NS_TEST_EXPECT_MSG_EQ(result, -1, what);
        NS_TEST_EXPECT_MSG_EQ(socket->GetErrno(), why, what);
    }

    void DoRun() override
    {
        Hosts hosts;
        const auto nothing = ns3::Create<ns3::Packet>(1);
        auto socket = hosts.Make(0);
        Expect(socket->Send(nothing, 0), socket, Socket::ERROR_NOTCONN, "not connected");
        Expect(socket->Listen(), socket, Socket::ERROR_INVAL, "not bound");
        Expect(socket->Bind(ns3::Address()), socket, Socket::ERROR_INVAL, "no address");
        Expect(socket->Connect(ns3::Address()), socket, Socket::ERROR_INVAL, "no address");
        const ns3::InetSocketAddress nowhere("192.0.2.1", 1);
        Expect(socket->Connect(nowhere), socket, Socket::ERROR_NOROUTETOHOST, "no route");
        NS_TEST_EXPECT_MSG_EQ((socket->Recv(100, 0) == nullptr), true, "nothing to read");
        NS_TEST_EXPECT_MSG_EQ(socket->Close(), 0, "closed");
        Expect(socket->Connect(hosts.Server()), socket, Socket::ERROR_BADF, "closed");
        Expect(socket->Send(nothing, 0), socket, Socket::ERROR_NOTCONN, "closed");

        auto first = hosts.Make(1);
        NS_TEST_EXPECT_MSG_EQ(first->Bind(hosts.Any()), 0, "free");
        Expect(first->Bind(hosts.Any()), first, Socket::ERROR_INVAL, "bound already");
        auto second = hosts.Make(1);
        Expect(second->Bind(hosts.Any()), second, Socket::ERROR_ADDRINUSE, "in use");

        // Of a node without IP.
        ns3::NodeContainer bare(1);
        LinuxTcpHelper().Install(bare);
        auto lonely = bare.Get(0)->GetObject<LinuxTcpSocketFactory>()->CreateSocket();
        Expect(lonely->Bind(), lonely, Socket::ERROR_NODEV, "no Internet stack");
        Expect(lonely->Connect(hosts.Server()), lonely, Socket::ERROR_NODEV, "no Internet stack");

        // Of a node without a device or an address.
        ns3::NodeContainer alone(1);
        ns3::InternetStackHelper().Install(alone);
        LinuxTcpHelper().Install(alone);
        auto apart = alone.Get(0)->GetObject<LinuxTcpSocketFactory>()->CreateSocket();
        Expect(apart->Connect(hosts.Server()), apart, Socket::ERROR_NOROUTETOHOST, "no address");

        // Attributes out of range.
        auto refuses = [&](const char* name, const ns3::AttributeValue& value) {
            NS_TEST_EXPECT_MSG_EQ(socket->SetAttributeFailSafe(name, value), false, name);
        };
        refuses("CongestionControl", StringValue("cubik"));
        refuses("CongestionControl", StringValue(""));
        refuses("CongestionControl", StringValue("cubic,beta"));
        refuses("CongestionControl", StringValue("cubic,gain=2"));
        refuses("CongestionControl", StringValue("bbr,cwnd_gain=many"));
        refuses("CongestionControl", StringValue("brutal")); // which needs a rate
        const StringValue cc("bbr,cwnd_gain=2.5,extra_acked_gain=0");
        NS_TEST_EXPECT_MSG_EQ(socket->SetAttributeFailSafe("CongestionControl", cc), true, "set");
        refuses("SndBufSize", UintegerValue(0));
        refuses("InitialCwnd", UintegerValue(0));
        refuses("DelAckCount", UintegerValue(65));
        refuses("MinRto", ns3::TimeValue(ns3::Seconds(-1)));
        refuses("MaxSegLifetime", ns3::DoubleValue(-1));

        // Nobody listens, then nobody answers.
        Peer client(1, 1);
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server(7));
        RunUntil(1);
        NS_TEST_EXPECT_MSG_EQ(client.isRefused, true, "refused");
        client.isRefused = false;
        client.Use(hosts.Make(0));
        client.Connect(ns3::InetSocketAddress("10.0.0.77", PORT));
        RunUntil(131);
        NS_TEST_EXPECT_MSG_EQ(client.isRefused, false, "still trying");
        RunUntil(134);
        NS_TEST_EXPECT_MSG_EQ(client.isRefused, true, "given up");
    }
};

class ClosedTest : public SocketTest
{
  public:
    ClosedTest()
        : SocketTest("A socket that was open and is closed refuses calls, and frees its port")
    {
    }

  private:
    void Expect(int result, Ptr<Socket> socket, Socket::SocketErrno why, const char* what)
    {
        NS_TEST_EXPECT_MSG_EQ(result, -1, what);
        NS_TEST_EXPECT_MSG_EQ(socket->GetErrno(), why, what);
    }

    /// Calls on a socket that is closed, whose connection may still be there.
    void Use(Hosts& hosts, Ptr<Socket> socket)
    {
        const auto nothing = ns3::Create<ns3::Packet>(1);
        Expect(socket->Send(nothing, 0), socket, Socket::ERROR_NOTCONN, "Send");
        Expect(socket->Connect(hosts.Server()), socket, Socket::ERROR_BADF, "Connect");
        Expect(socket->Listen(), socket, Socket::ERROR_INVAL, "Listen");
        const auto packet = socket->Recv();
        NS_TEST_EXPECT_MSG_EQ(packet ? packet->GetSize() : 0, 0, "Recv");
        NS_TEST_EXPECT_MSG_EQ(socket->Close(), 0, "Close again");
    }

    void DoRun() override
    {
        ns3::Config::SetDefault("tunnelcc::LinuxTcpSocket::MaxSegLifetime", ns3::DoubleValue(0.5));
        Hosts hosts;
        Peer server(0, 1'000);
        server.closesAtEnd = false;
        server.Listen(hosts.Make(1), hosts.Any());
        Peer client(5'000, 1'000);
        client.closesAtEnd = false;
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server());
        Simulator::Schedule(ns3::Seconds(1.2), [&] { server.socket->Close(); });
        RunUntil(1);
        NS_TEST_EXPECT_MSG_EQ(server.received, 5'000, "open");
        client.socket->Close();
        Use(hosts, client.socket);
        RunUntil(1.5);
        Use(hosts, client.socket); // in TIME-WAIT
        NS_TEST_EXPECT_MSG_EQ(hosts.Bound(0), 1, "in use for two lifetimes of a segment");
        RunUntil(3);
        Use(hosts, client.socket);
        NS_TEST_EXPECT_MSG_EQ(hosts.Bound(0), 0, "free");
        ns3::Config::Reset();
    }
};

class StockPeerTest : public SocketTest
{
  public:
    StockPeerTest()
        : SocketTest("Sockets of ns-3 are refused, and work beside ours")
    {
    }

  private:
    void DoRun() override
    {
        const std::string stock = "ns3::TcpSocketFactory";
        Hosts hosts;
        Peer stockServer(0, 1'000);
        stockServer.Listen(hosts.Make(1, stock), hosts.Any());
        Peer client(10'000, 1'000);
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server());

        Peer ourServer(0, 1'000);
        ourServer.Listen(hosts.Make(1), ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), 6000));
        Peer stockClient(10'000, 1'000);
        stockClient.Use(hosts.Make(0, stock));
        stockClient.Connect(hosts.Server(6000));

        Peer stockPair(20'000, 1'000);
        stockPair.Use(hosts.Make(0, stock));
        Simulator::Schedule(ns3::Seconds(1), [&] {
            stockServer.received = 0;
            stockPair.Connect(hosts.Server());
        });
        RunUntil(10);
        NS_TEST_EXPECT_MSG_EQ(client.isRefused, true, "a stock server");
        NS_TEST_EXPECT_MSG_EQ(ourServer.received, 0, "nothing from a stock client");
        NS_TEST_EXPECT_MSG_EQ(stockClient.isOpen, false, "a stock client");
        NS_TEST_EXPECT_MSG_EQ(stockServer.received, 20'000, "between two of ns-3");
    }
};

class SmallerMssTest : public SocketTest
{
  public:
    SmallerMssTest()
        : SocketTest("The smaller MSS of the two ends holds, and headers are as Linux writes them")
    {
    }

  private:
    void DoRun() override
    {
        Hosts hosts;
        hosts.devices.Get(1)->SetMtu(600);
        Peer server(100'000, 5'000);
        server.Listen(hosts.Make(1), hosts.Any());
        Peer client(100'000, 5'000);
        client.Use(hosts.Make(0));
        uint32_t largest = 0;
        std::string options;
        client.socket->TraceConnectWithoutContext(
            "Tx",
            ns3::Callback<void,
                          Ptr<const ns3::Packet>,
                          const ns3::TcpHeader&,
                          Ptr<const LinuxTcpSocket>>([&](Ptr<const ns3::Packet> packet,
                                                         const ns3::TcpHeader& header,
                                                         Ptr<const LinuxTcpSocket>) {
                largest = std::max(largest, packet->GetSize());
                if (header.GetFlags() & ns3::TcpHeader::SYN)
                {
                    for (const auto& option : header.GetOptionList())
                    {
                        options += std::to_string(option->GetKind()) + " ";
                    }
                }
            }));
        client.Connect(hosts.Server());
        RunUntil(10);
        NS_TEST_EXPECT_MSG_EQ(options, "2 4 8 1 3 ", "MSS, SACK permitted, timestamps, scale");
        NS_TEST_EXPECT_MSG_EQ(largest, 548, "600 less 20 and 32");
        NS_TEST_EXPECT_MSG_EQ(server.received, 100'000, "to the server");
        NS_TEST_EXPECT_MSG_EQ(client.received, 100'000, "to the client");
        NS_TEST_EXPECT_MSG_EQ(server.isIntact && client.isIntact, true, "unchanged");
    }
};

/// Headers that neither end has sent, from a host that knows addresses and ports.
class StrangerTest : public SocketTest
{
  public:
    StrangerTest()
        : SocketTest("Segments that no end has sent do no harm, unless they reset")
    {
    }

  private:
    void Inject(Hosts& hosts, const ns3::TcpHeader& seen)
    {
        ns3::TcpHeader header;
        header.SetSourcePort(seen.GetSourcePort());
        header.SetDestinationPort(seen.GetDestinationPort());
        header.SetFlags(static_cast<uint8_t>(m_random() & ~ns3::TcpHeader::RST));
        const auto near = static_cast<int32_t>(m_random() % 3'000) - 1'500;
        header.SetSequenceNumber(seen.GetSequenceNumber() + (m_random() % 2 ? near : 0));
        header.SetAckNumber(seen.GetAckNumber() + (m_random() % 2 ? near : 0));
        header.SetWindowSize(static_cast<uint16_t>(m_random()));
        for (const auto& option : seen.GetOptionList())
        {
            if (m_random() % 4 != 0)
            {
                header.AppendOption(option);
            }
        }
        auto tcp = hosts.nodes.Get(0)->GetObject<ns3::TcpL4Protocol>();
        tcp->SendPacket(ns3::Create<ns3::Packet>(m_random() % 100),
                        header,
                        ns3::Ipv4Address("10.0.0.1"),
                        ns3::Ipv4Address("10.0.0.2"));
    }

    void DoRun() override
    {
        constexpr uint64_t BYTES = 300'000;
        Hosts hosts;
        Peer server(1'000, 1'000);
        server.Listen(hosts.Make(1), hosts.Any());
        Peer client(BYTES, 1'000);
        client.Use(hosts.Make(0));
        client.socket->TraceConnectWithoutContext(
            "Tx",
            ns3::Callback<void,
                          Ptr<const ns3::Packet>,
                          const ns3::TcpHeader&,
                          Ptr<const LinuxTcpSocket>>([&](Ptr<const ns3::Packet>,
                                                         const ns3::TcpHeader& header,
                                                         Ptr<const LinuxTcpSocket>) {
                Simulator::Schedule(ns3::MilliSeconds(1),
                                    [this, &hosts, header] { Inject(hosts, header); });
            }));
        client.Connect(hosts.Server());
        RunUntil(30);
        NS_TEST_EXPECT_MSG_EQ(server.received, BYTES, "all");
        NS_TEST_EXPECT_MSG_EQ(server.isIntact, true, "unchanged");
        NS_TEST_EXPECT_MSG_EQ(client.isBroken || server.isBroken, false, "unbroken");
    }

    std::mt19937 m_random{11};
};

class EarlyCloseTest : public SocketTest
{
  public:
    EarlyCloseTest()
        : SocketTest("What is written before the connection is open arrives, then the end of it")
    {
    }

  private:
    void DoRun() override
    {
        Hosts hosts;
        Peer server(0, 1'000);
        server.closesAtEnd = false;
        server.Listen(hosts.Make(1), hosts.Any());
        Peer client(20'000, 1'000);
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server());
        Simulator::Schedule(ns3::MilliSeconds(1), [&] { client.Write(); }); // and closes
        RunUntil(2);
        NS_TEST_EXPECT_MSG_EQ(server.received, 20'000, "all");
        NS_TEST_EXPECT_MSG_EQ(server.isClosedByPeer, true, "closed");
    }
};

class ResetTest : public SocketTest
{
  public:
    ResetTest()
        : SocketTest("Close() with unread data, or by a listener's owner, tells the other end")
    {
    }

  private:
    void DoRun() override
    {
        Hosts hosts;
        Peer server(0, 1'000);
        server.reads = false;
        server.closesAtEnd = false;
        server.Listen(hosts.Make(1), hosts.Any());
        Peer client(50'000, 1'000);
        client.closesAtEnd = false;
        client.Use(hosts.Make(0));
        client.Connect(hosts.Server());
        RunUntil(1);
        server.socket->Close();
        RunUntil(2);
        NS_TEST_EXPECT_MSG_EQ(client.isBroken, true, "reset");
        NS_TEST_EXPECT_MSG_EQ(hosts.Bound(0), 0, "free");
    }
};

ADD_CASES
{
    AddCase(new ContentsTest(false, 0, 1'000, false));
    AddCase(new ContentsTest(true, 0.03, 333, false));
    AddCase(new ContentsTest(false, 0.03, 20'000, true));
    AddCase(new SlowReaderTest());
    AddCase(new PoliteWriterTest());
    AddCase(new ErrorsTest());
    AddCase(new ClosedTest());
    AddCase(new StockPeerTest());
    AddCase(new SmallerMssTest());
    AddCase(new EarlyCloseTest());
    AddCase(new StrangerTest());
    AddCase(new ResetTest());
}

} // namespace

} // namespace tunnelcc
