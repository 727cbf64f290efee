// All tests, over one browser and one server.
import './pure.test.mjs'
import './api.test.mjs'
import './page.test.mjs'
import './write.test.mjs'
import './structure.test.mjs'
import './inside.test.mjs'
import './models.test.mjs'
import './code.test.mjs'
