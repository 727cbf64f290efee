package batches

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tag is the name of this API in the OpenAPI document.
const tag = "Batches"

var pathFile = []httpx.PathParameter{{Name: "file_id", Description: "the id of a file", Example: "file-0123456789abcdef0123456789abcdef"}}

var pathUpload = []httpx.PathParameter{{Name: "upload_id", Description: "the id of an upload", Example: "upload_0123456789abcdef0123456789abcdef"}}

var pathBatch = []httpx.PathParameter{{Name: "batch_id", Description: "the id of a batch", Example: "batch_0123456789abcdef0123456789abcdef"}}

var (
	missing  = []llm.Code{llm.NotFound}
	refusing = []llm.Code{llm.NotFound, llm.Invalid, httpx.TooLarge} // of requests without a body
)

var uploadDoc = &httpx.Operation{
	ID: "createFile", Tag: tag, Summary: "Upload a file of requests",
	Description: "Each line is a request: custom_id, method, url and body. Larger files are sent in parts, by POST /v1/uploads.",
	Form: []httpx.FormField{
		{Name: "purpose", Description: "what the file is for", OneOf: []string{"batch"}},
		{Name: "file", Description: "the file, with its name", File: true},
	},
	Answers: []httpx.Answer{{Of: file{}}},
}

var listFilesDoc = &httpx.Operation{
	ID: "listFiles", Tag: tag, Summary: "List the files of requests and of answers",
	Description: "Files belong to the key or the user that uploaded them.",
	Query:       filesTable, Answers: []httpx.Answer{{Of: fileList{}}},
}

var retrieveFileDoc = &httpx.Operation{
	ID: "retrieveFile", Tag: tag, Summary: "Describe a file",
	Path: pathFile, Answers: []httpx.Answer{{Of: file{}}}, Codes: missing,
}

var deleteFileDoc = &httpx.Operation{
	ID: "deleteFile", Tag: tag, Summary: "Delete a file", Description: "A file of requests whose batch runs is not deleted.",
	Path: pathFile, Answers: []httpx.Answer{{Of: deletion{}}}, Codes: missing,
}

var contentDoc = &httpx.Operation{
	ID: "downloadFile", Tag: tag, Summary: "Get the content of a file",
	Path: pathFile, Answers: []httpx.Answer{{Media: "application/octet-stream"}}, Codes: missing,
}

var beginUploadDoc = &httpx.Operation{
	ID: "beginFileUpload", Tag: tag, Summary: "Begin a file that is sent in parts",
	Description: "Its parts may come in any order, and must be joined within an hour.",
	Body:        uploadTable, Example: `{"bytes": 1000000, "filename": "requests.jsonl", "mime_type": "application/jsonl", "purpose": "batch"}`,
	Answers: []httpx.Answer{{Of: uploadObject{}}},
}

var addPartDoc = &httpx.Operation{
	ID: "addFilePart", Tag: tag, Summary: "Send a part of an upload",
	Path: pathUpload, Form: []httpx.FormField{{Name: "data", Description: "the bytes of the part", File: true}},
	Answers: []httpx.Answer{{Of: partObject{}}}, Codes: missing,
}

var cancelUploadDoc = &httpx.Operation{
	ID: "cancelFileUpload", Tag: tag, Summary: "Give up an upload",
	Path: pathUpload, Answers: []httpx.Answer{{Of: uploadObject{}}}, Codes: refusing,
}

var completeUploadDoc = &httpx.Operation{
	ID: "completeFileUpload", Tag: tag, Summary: "Join the parts of an upload to a file",
	Path: pathUpload, Body: completeTable, Example: `{"part_ids": ["part_0123456789abcdef0123456789abcdef"]}`,
	Answers: []httpx.Answer{{Of: uploadObject{}}}, Codes: missing,
}

var createDoc = &httpx.Operation{
	ID: "createBatch", Tag: tag, Summary: "Run the requests of a file in the background",
	Description: "Each line of the file is a request: custom_id, method, url and body. The lines run with the permissions and limits of their owner. " +
		"Lines that are not requests are reported with their number, and do not stop the others.",
	Body:    createTable,
	Example: `{"input_file_id": "file-0123456789abcdef0123456789abcdef", "endpoint": "/v1/chat/completions", "completion_window": "24h"}`,
	Answers: []httpx.Answer{{Of: batchObject{}}}, Codes: missing,
}

var listDoc = &httpx.Operation{
	ID: "listBatches", Tag: tag, Summary: "List the batches, the newest first",
	Query: listTable, Answers: []httpx.Answer{{Of: batchList{}}},
}

var retrieveDoc = &httpx.Operation{
	ID: "retrieveBatch", Tag: tag, Summary: "Get the state of a batch",
	Path: pathBatch, Answers: []httpx.Answer{{Of: batchObject{}}}, Codes: missing,
}

var cancelDoc = &httpx.Operation{
	ID: "cancelBatch", Tag: tag, Summary: "Stop a batch", Description: "Requests that run may still be answered. A batch that has ended stays as it is.",
	Path: pathBatch, Answers: []httpx.Answer{{Of: batchObject{}}}, Codes: refusing,
}
