// A closed loop of minio-go's, the client that warp is made of, for load_throughput.py, where warp itself is not there.
//
//	go mod init loop && go get github.com/minio/minio-go/v7 && go build -o minio-loop load_throughput_minio.go
//	minio-loop get|put HOST:PORT BUCKET PREFIX OBJECTS BODY_BYTES CONCURRENCY SECONDS
//
// As warp does it: one client, as many idle connections kept as there are goroutines, bodies read whole into nothing,
// random data for PUTs, no payload hash. Reads PREFIX's listed objects in turn, writes OBJECTS keys below it in turn.
// Any error ends it with exit code 1.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func main() {
	verb, host, bucket, prefix := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	objects, size, concurrency, seconds := number(os.Args[5]), number(os.Args[6]), number(os.Args[7]), number(os.Args[8])
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = concurrency, concurrency
	transport.DisableCompression = true
	client, err := minio.New(host, &minio.Options{
		Creds:     credentials.NewStaticV4(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
		Region:    os.Getenv("AWS_REGION"),
		Transport: transport,
	})
	must(err)
	background := context.Background()
	var keys []string
	if verb == "get" {
		for object := range client.ListObjects(background, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			must(object.Err)
			keys = append(keys, object.Key)
		}
	} else {
		for index := 0; index < objects; index++ {
			keys = append(keys, fmt.Sprintf("%s%08d", prefix, index))
		}
	}
	body := make([]byte, size)
	_, err = rand.Read(body)
	must(err)
	options := minio.PutObjectOptions{DisableContentSha256: true, DisableMultipart: true}
	deadline := time.Now().Add(time.Duration(seconds) * time.Second)
	var next atomic.Int64
	var group sync.WaitGroup
	for index := 0; index < concurrency; index++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(deadline) {
				key := keys[int(next.Add(1))%len(keys)]
				if verb == "get" {
					object, err := client.GetObject(background, bucket, key, minio.GetObjectOptions{})
					must(err)
					_, err = io.Copy(io.Discard, object)
					must(err)
					must(object.Close())
				} else {
					_, err := client.PutObject(background, bucket, key, bytes.NewReader(body), int64(size), options)
					must(err)
				}
			}
		}()
	}
	group.Wait()
}
