// What a server may answer, and whether it is an answer to the request.
package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/lockbench/lockbench/drivers"
)

// The limits of what a server may send, in bytes: of a message (the library's limit is 2 GiB), of the headers of an
// answer (gRPC's limit is 16 MiB), and of a page of metrics, which has some 100 kB.
const maxMessage, maxHeaders, maxMetrics = 4 << 20, 64 << 10, 8 << 20

// request makes a request fail if there is no connection; the library would wait for one. It rejects an answer that
// lacks what every answer has.
func request(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	if err := invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false))...); err != nil {
		return err
	}
	return checkReply(req, reply)
}

// checkReply checks the parts that the callers rely on.
func checkReply(req, reply any) error {
	if r, ok := reply.(interface{ GetHeader() *pb.ResponseHeader }); ok && r.GetHeader() == nil {
		return drivers.Malformed("an answer without a header")
	}
	asked, isTxn := req.(*pb.TxnRequest)
	answer, answers := reply.(*pb.TxnResponse)
	if !isTxn || !answers {
		return nil
	}
	ops := asked.Failure
	if answer.Succeeded {
		ops = asked.Success
	}
	if len(ops) != len(answer.Responses) {
		return drivers.Malformed("%d answers to a transaction of %d operations", len(answer.Responses), len(ops))
	}
	for i, op := range ops {
		if op.GetRequestRange() != nil && answer.Responses[i].GetResponseRange() == nil {
			return drivers.Malformed("a transaction without what it has read")
		}
	}
	return nil
}
