package batch

import "testing"

// A process is not alone while an older one works, which itself was not.
func TestDirectoryAlone(t *testing.T) {
	dir := t.TempDir()
	begin := func() (*Directory, bool) {
		d, err := OpenDirectory(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d, d.Alone()
	}
	end := func(d *Directory) {
		if err := d.lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first, alone := begin()
	if first.lock == nil {
		t.Skip("files cannot be locked here")
	}
	if !alone {
		t.Error("the first process is not alone")
	}
	second, alone := begin()
	if alone {
		t.Error("the second process is alone")
	}
	end(first)
	third, alone := begin()
	if alone {
		t.Error("the third process is alone, while the second one works")
	}
	end(second)
	end(third)
	if last, alone := begin(); !alone {
		t.Error("the last process is not alone")
	} else {
		end(last)
	}
}
