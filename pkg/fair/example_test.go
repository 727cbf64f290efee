package fair_test

import (
	"fmt"
	"log"

	"glossa/pkg/fair"
)

// One sender may hold no more than its share, so that others find room.
func ExamplePool() {
	var pool fair.Pool
	limits := fair.Limits{Total: 100, Share: 60}
	first, err := pool.Claim("ann", 60, limits)
	if err != nil {
		log.Fatal(err)
	}
	more, err := pool.Claim("ann", 30, limits)
	if err != nil {
		log.Fatal(err)
	}
	other, err := pool.Claim("bob", 30, limits)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Granted(), more.Granted(), other.Granted())
	first.Release()
	fmt.Println(more.Granted())
	// Output:
	// true false true
	// true
}

// The next turn goes to the sender that holds the fewest.
func ExampleTurns() {
	var turns fair.Turns[string] // the caller provides the lock
	for _, item := range []struct{ sender, name string }{{"ann", "a1"}, {"ann", "a2"}, {"ann", "a3"}, {"bob", "b1"}} {
		line := turns.Enter(item.sender)
		turns.Wait(line, item.name, len(line.Waiting))
	}
	for line := turns.Next(); line != nil; line = turns.Next() {
		fmt.Println(turns.Serve(line))
	}
	// Output:
	// a1
	// b1
	// a2
	// a3
}
