/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks how messages cross a byte stream: handshakes turn by turn, writes as there is room, and
 * messages that arrive with their last byte.
 */
#include "support/fake-stream.h"
#include "support/specs.h"
#include "support/test-case.h"
#include "tunnel/message-stream.h"

#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-message");

using Sizes = std::vector<uint64_t>;

TEST_CASE(ns3::TestCase,
          WriteQueueTest,
          "Writes follow one another as there is room, none beginning early")
{
    FakeStream stream;
    WriteQueue queue;
    NS_TEST_EXPECT_MSG_EQ(queue.Flush(0, stream), true, "nothing to write");
    stream.room = 150;
    queue.Append({100, 0, 100});
    queue.Append({30});
    NS_TEST_EXPECT_MSG_EQ(queue.Flush(0, stream), false, "no room for all");
    NS_TEST_EXPECT_MSG_EQ((stream.writes == Sizes{100, 50}), true, "as far as it goes");
    stream.room = 60;
    NS_TEST_EXPECT_MSG_EQ(queue.Flush(0, stream), false, "no room for the last");
    stream.room = 100;
    NS_TEST_EXPECT_MSG_EQ(queue.Flush(0, stream), true, "all");
    NS_TEST_EXPECT_MSG_EQ((stream.writes == Sizes{100, 50, 50, 10, 20}), true, "each once");
    queue.Append({7});
    NS_TEST_EXPECT_MSG_EQ(queue.Flush(0, stream), true, "and so on");
    NS_TEST_EXPECT_MSG_EQ(stream.writes.back(), 7, "and so on");
}

TEST_CASE(ns3::TestCase,
          HandshakeTurnsTest,
          "Each end of a handshake writes once it has read all of the other's part")
{
    const std::vector<HandshakeTurn> turns{{{300}, {1'000, 500}}, {{80, 40}, {60}}};
    FakeStreamPair wire;
    Handshake client(turns, wire.client, End::CLIENT);
    Handshake server(turns, wire.server, End::SERVER);
    wire.server.room = 1'200;
    client.Advance(0);
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == Sizes{300}), true, "the client begins");
    NS_TEST_EXPECT_MSG_EQ(wire.server.writes.empty(), true, "the server waits");
    wire.ToServer(299);
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ(wire.server.writes.empty(), true, "for all of it");
    wire.ToServer(1);
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ((wire.server.writes == Sizes{1'000, 200}), true, "as there is room");
    wire.server.room = 1'000;
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ((wire.server.writes == Sizes{1'000, 200, 300}), true, "the rest");
    wire.ToClient(1'500);
    client.Advance(0);
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == Sizes{300, 80, 40}), true, "second turn");
    wire.ToServer(120);
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ(server.IsDone(), true, "the server is done when it has answered");
    NS_TEST_EXPECT_MSG_EQ(client.IsDone(), false, "the client is not");
    wire.ToClient(60);
    client.Advance(0);
    NS_TEST_EXPECT_MSG_EQ(client.IsDone(), true, "the client is done when it has read that");
}

TEST_CASE(ns3::TestCase,
          HandshakeConfirmTest,
          "A server that confirms holds back its last part, and no other")
{
    const std::vector<HandshakeTurn> turns{{{3}, {2}}, {{4}, {10}}};
    FakeStreamPair wire;
    Handshake server(turns, wire.server, End::SERVER, true);
    wire.client.inFlight = 7;
    wire.ToServer(3);
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ((wire.server.writes == Sizes{2}), true, "the first answer");
    NS_TEST_EXPECT_MSG_EQ(server.AwaitsConfirmation(), false, "not before it was asked");
    wire.ToServer(4);
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ(server.AwaitsConfirmation(), true, "the last is held back");
    NS_TEST_EXPECT_MSG_EQ(server.IsDone(), false, "it is not over");
    server.Confirm();
    server.Advance(0);
    NS_TEST_EXPECT_MSG_EQ((wire.server.writes == Sizes{2, 10}), true, "and follows");
    NS_TEST_EXPECT_MSG_EQ(server.IsDone(), true, "it is over");
}

/// One end of a carrier of numbered messages, which notes what it is told.
class Peer final : private StreamUser
{
  public:
    using Stream = MessageStream<int>;
    using Logs = PerEnd<MessageLog<int>>;

    Peer(ByteStream& carrier, End end, const MessageProtocol& protocol, Logs& logs)
        : stream(carrier, end, protocol, logs)
    {
        stream.SetUser(*this);
    }

    uint32_t opened{0};
    uint32_t writable{0};
    std::vector<int> messages; //!< that arrived
    Stream stream;

  private:
    void OnOpen(int64_t /* now */) override
    {
        ++opened;
    }

    void OnReadable(int64_t now) override
    {
        while (const Message<int>* message = stream.Read(now))
        {
            messages.push_back(message->content);
            stream.Pop();
        }
    }

    void OnWritable(int64_t now) override
    {
        ++writable;
        stream.Flush(now);
    }
};

const std::vector<HandshakeTurn> ONE_TURN{{{10}, {20}}};
const std::vector<LayerSpec> NO_LAYERS;

TEST_CASE(ns3::TestCase,
          MessagesTest,
          "Messages follow the handshake, and each arrives with its last byte")
{
    FakeStreamPair wire;
    Peer::Logs logs;
    Peer client(wire.client, End::CLIENT, {ONE_TURN, NO_LAYERS}, logs);
    Peer server(wire.server, End::SERVER, {ONE_TURN, NO_LAYERS}, logs);
    client.stream.Append(1, 100);
    NS_TEST_EXPECT_MSG_EQ(client.stream.Flush(0), false, "not before the handshake");
    client.stream.Connect(0);
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == Sizes{10}), true, "but for the handshake");
    wire.ToServer(10);
    NS_TEST_EXPECT_MSG_EQ(server.opened, 1, "the server may send");
    server.stream.Append(-1, 7);
    NS_TEST_EXPECT_MSG_EQ(server.stream.Flush(0), true, "behind its handshake");
    wire.ToClient(20);
    NS_TEST_EXPECT_MSG_EQ(client.opened, 1, "the client may");
    NS_TEST_EXPECT_MSG_EQ(client.messages.size(), 0, "the message is not there yet");
    wire.ToClient(7);
    NS_TEST_EXPECT_MSG_EQ((client.messages == std::vector{-1}), true, "now it is");

    wire.client.room = 130;
    client.stream.Append(2, 50);
    NS_TEST_EXPECT_MSG_EQ(client.stream.Flush(0), false, "the buffer is full");
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == Sizes{10, 100, 30}), true, "in order");
    wire.ToServer(99);
    NS_TEST_EXPECT_MSG_EQ(server.messages.size(), 0, "a byte is missing");
    wire.ToServer(31);
    NS_TEST_EXPECT_MSG_EQ((server.messages == std::vector{1}), true, "the first is whole");
    wire.client.Drain(1'000);
    NS_TEST_EXPECT_MSG_EQ(client.writable, 1, "it is told of room");
    wire.ToServer(20);
    NS_TEST_EXPECT_MSG_EQ((server.messages == std::vector{1, 2}), true, "the second, too");

    client.stream.Append(3, 5);
    client.stream.Append(4, 5);
    NS_TEST_EXPECT_MSG_EQ(client.stream.Flush(0), true, "two at once");
    client.stream.Close(0);
    NS_TEST_EXPECT_MSG_EQ(server.stream.IsAtEof(), false, "there is more to come");
    wire.client.DeliverAll(wire.server);
    NS_TEST_EXPECT_MSG_EQ((server.messages == std::vector{1, 2, 3, 4}), true, "both arrive");
    NS_TEST_EXPECT_MSG_EQ(server.stream.IsAtEof(), true, "that was all");
    NS_TEST_EXPECT_MSG_EQ(client.opened + server.opened, 2, "opened once");
}

TEST_CASE(ns3::TestCase,
          LayeredMessageTest,
          "A message has the writes that layers make of each of its parts")
{
    const std::vector<HandshakeTurn> noHandshake;
    const std::vector<LayerSpec> layers{MakeWebSocket(false, 4'096)};
    FakeStreamPair wire;
    Peer::Logs logs;
    Peer client(wire.client, End::CLIENT, {noHandshake, layers}, logs);
    client.stream.Connect(0);
    NS_TEST_EXPECT_MSG_EQ(client.opened, 1, "without a handshake it is open at once");
    const Message<int> message = client.stream.Append(1, 5'000);
    NS_TEST_EXPECT_MSG_EQ(message.writes, 2, "two frames");
    NS_TEST_EXPECT_MSG_EQ(message.wire, 5'000 + 4 + 4, "their headers");
    const std::vector<uint32_t> parts{2, 100};
    const Message<int> next = client.stream.Append(2, parts);
    NS_TEST_EXPECT_MSG_EQ(next.writes, 2, "a frame for each part");
    NS_TEST_EXPECT_MSG_EQ(next.end, message.wire + next.wire, "behind the first");
    client.stream.Flush(0);
    NS_TEST_EXPECT_MSG_EQ((wire.client.writes == Sizes{4'100, 908, 4, 102}), true, "as said");
}

TEST_CASE(ns3::TestCase,
          ConfirmedStreamTest,
          "A server that confirms is told before its handshake is over")
{
    FakeStreamPair wire;
    Peer::Logs logs;
    Peer client(wire.client, End::CLIENT, {ONE_TURN, NO_LAYERS, true}, logs);
    Peer server(wire.server, End::SERVER, {ONE_TURN, NO_LAYERS, true}, logs);
    client.stream.Connect(0);
    wire.ToServer(10);
    NS_TEST_EXPECT_MSG_EQ(server.opened, 1, "it is told");
    NS_TEST_EXPECT_MSG_EQ(server.stream.IsOpen(), false, "it must not send yet");
    NS_TEST_EXPECT_MSG_EQ(wire.server.writes.empty(), true, "and has not answered");
    server.stream.Confirm(0);
    NS_TEST_EXPECT_MSG_EQ(server.stream.IsOpen(), true, "now it may");
    wire.server.DeliverAll(wire.client);
    NS_TEST_EXPECT_MSG_EQ(client.stream.IsOpen(), true, "and the client, too");
    NS_TEST_EXPECT_MSG_EQ(client.opened + server.opened, 2, "each is told once");
}

} // namespace
